"""Classes that are cheap to define are dataclasses like those of the standard library."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, dataclass, field, fields, replace

import pytest

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class Ours:
    """A class with every kind of field."""

    name: str
    size: int = 0
    tags: list[str] = field(default_factory=list[str])
    hidden: str = field(default="", repr=False)
    weight: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Theirs:
    """The same class, by the standard library."""

    name: str
    size: int = 0
    tags: list[str] = field(default_factory=list[str])
    hidden: str = field(default="", repr=False)
    weight: int = field(default=0, compare=False)


@frozen_dataclass
class Even:
    """A class that looks at what it was given."""

    number: int

    def __post_init__(self) -> None:
        if self.number % 2:
            raise ValueError(self.number)


@frozen_dataclass
class Longer(Even):
    """A class that has more fields than another."""

    word: str = "two"


@frozen_dataclass
class Empty:
    """A class without fields."""


Make = type[Ours] | type[Theirs]
BOTH = pytest.mark.parametrize("make", [Ours, Theirs])


@BOTH
def test_fields_can_be_positional_or_named_or_take_their_defaults(make: Make) -> None:
    assert asdict(make("a", 1, tags=["x"])) == {
        "name": "a",
        "size": 1,
        "tags": ["x"],
        "hidden": "",
        "weight": 0,
    }


@BOTH
def test_a_mutable_default_is_created_for_each_instance(make: Make) -> None:
    first, second = make("a"), make("a")
    first.tags.append("x")
    assert second.tags == []


@BOTH
def test_instances_with_equal_values_are_equal(make: Make) -> None:
    assert make("a", weight=1) == make("a", weight=2)
    assert make("a") != make("b")
    assert make("a") != ("a", 0, [], "", 0)


def test_instances_of_different_classes_are_unequal_even_with_equal_values() -> None:
    assert Even(2) != Longer(2)
    assert Empty() == Empty()
    assert {Even(2), Even(2), Empty(), Empty()} == {Even(2), Empty()}


@BOTH
def test_hidden_fields_are_omitted_from_the_repr(make: Make) -> None:
    text = repr(make("a", hidden="hush"))
    assert text == f"{make.__name__}(name='a', size=0, tags=[], weight=0)"


CHANGES: dict[str, Callable[[Ours | Theirs], None]] = {
    "set": lambda each: setattr(each, "name", "b"),
    "deleted": lambda each: delattr(each, "name"),
}


@BOTH
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_instances_are_immutable(make: Make, change: Callable[[Ours | Theirs], None]) -> None:
    each = make("a")
    with pytest.raises(FrozenInstanceError):
        change(each)
    assert each == make("a")
    assert not hasattr(each, "__dict__")


@BOTH
def test_instances_support_replace_pattern_matching_and_copy(make: Make) -> None:
    each = replace(make("a", 1), size=2)
    match each:
        case Ours(name, size) | Theirs(name, size):
            assert (name, size) == ("a", 2)
    assert [each.name for each in fields(make)] == ["name", "size", "tags", "hidden", "weight"]
    assert copy.deepcopy(each) == each
    assert pickle.loads(pickle.dumps(each)) == each  # noqa: S301  written just before


def test_post_init_can_reject_values() -> None:
    with pytest.raises(ValueError, match="3"):
        Even(3)
    with pytest.raises(ValueError, match="5"):
        Longer(5)
    assert asdict(Longer(4)) == {"number": 4, "word": "two"}


def test_missing_and_unknown_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="name"):
        Ours()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="other"):
        Ours("a", other=1)  # pyright: ignore[reportCallIssue]
