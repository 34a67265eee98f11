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
def test_fields_are_given_by_place_or_by_name_or_have_their_defaults(make: Make) -> None:
    assert asdict(make("a", 1, tags=["x"])) == {
        "name": "a",
        "size": 1,
        "tags": ["x"],
        "hidden": "",
        "weight": 0,
    }


@BOTH
def test_a_default_that_can_change_is_made_anew(make: Make) -> None:
    first, second = make("a"), make("a")
    first.tags.append("x")
    assert second.tags == []


@BOTH
def test_those_with_the_same_values_are_the_same(make: Make) -> None:
    assert make("a", weight=1) == make("a", weight=2)
    assert make("a") != make("b")
    assert make("a") != ("a", 0, [], "", 0)


def test_classes_are_told_apart_even_where_their_values_are_the_same() -> None:
    assert Even(2) != Longer(2)
    assert Empty() == Empty()
    assert {Even(2), Even(2), Empty(), Empty()} == {Even(2), Empty()}


@BOTH
def test_what_is_to_be_hidden_is_not_described(make: Make) -> None:
    text = repr(make("a", hidden="hush"))
    assert text == f"{make.__name__}(name='a', size=0, tags=[], weight=0)"


CHANGES: dict[str, Callable[[Ours | Theirs], None]] = {
    "set": lambda each: setattr(each, "name", "b"),
    "deleted": lambda each: delattr(each, "name"),
}


@BOTH
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_can_be_changed(make: Make, change: Callable[[Ours | Theirs], None]) -> None:
    each = make("a")
    with pytest.raises(FrozenInstanceError):
        change(each)
    assert each == make("a")
    assert not hasattr(each, "__dict__")


@BOTH
def test_they_are_replaced_matched_and_copied(make: Make) -> None:
    each = replace(make("a", 1), size=2)
    match each:
        case Ours(name, size) | Theirs(name, size):
            assert (name, size) == ("a", 2)
    assert [each.name for each in fields(make)] == ["name", "size", "tags", "hidden", "weight"]
    assert copy.deepcopy(each) == each
    assert pickle.loads(pickle.dumps(each)) == each  # noqa: S301  written just before


def test_what_looks_at_its_values_may_refuse_them() -> None:
    with pytest.raises(ValueError, match="3"):
        Even(3)
    with pytest.raises(ValueError, match="5"):
        Longer(5)
    assert asdict(Longer(4)) == {"number": 4, "word": "two"}


def test_missing_and_unknown_values_are_refused() -> None:
    with pytest.raises(TypeError, match="name"):
        Ours()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="other"):
        Ours("a", other=1)  # pyright: ignore[reportCallIssue]
