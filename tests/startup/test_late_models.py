"""A model that is defined late is the model that pydantic would have made at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event
from typing import Annotated, Literal, Self, cast

import pytest
from pydantic import (
    ConfigDict,
    Field,
    PydanticUserError,
    TypeAdapter,
    ValidationError,
    computed_field,
    model_validator,
)

from acp_server.startup.late_models import LateModel
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


class Circle(LateModel):
    """A shape."""

    kind: Literal["circle"] = "circle"
    radius: int


class Box(LateModel):
    """Another shape, with a configuration of its own."""

    model_config = ConfigDict(frozen=True, validate_by_name=True)

    kind: Literal["box"] = "box"
    width: Annotated[int, Field(alias="w", gt=0)] = 1

    @model_validator(mode="after")
    def _is_small(self) -> Self:
        if self.width > 9:
            raise ValueError("too wide")
        return self

    @computed_field
    @property
    def area(self) -> int:
        """The area."""
        return self.width**2

    def describe(self) -> str:
        """Return the size."""
        return f"{self.width} wide"


class NamedBox(Box):
    """A model whose base may be undefined as well."""

    name: str = "a box"

    def describe(self) -> str:
        """Return the name too; `super` needs the cell of the class."""
        return f"{self.name}, {super().describe()}"


class Drawing(LateModel):
    """A model that names others, one of them before it exists."""

    shapes: list[Annotated[Circle | Box, Field(discriminator="kind")]]
    frame: "Frame | None" = None


class Frame(LateModel):
    """What a drawing may have."""

    box: NamedBox


def is_defined(model: type[LateModel]) -> bool:
    """Return whether a model has its fields."""
    return isinstance(vars(model)["__pydantic_fields__"], dict)


def test_a_model_and_what_it_is_made_of_are_defined_when_it_is_used() -> None:
    """The only test that these classes may be undefined before: none may run in between."""

    class Lone(LateModel):
        number: int

    class Derived(Lone):
        name: str = "x"

    assert (is_defined(Lone), is_defined(Derived)) == (False, False)
    assert Derived(number=1).model_dump() == {"number": 1, "name": "x"}
    assert (is_defined(Lone), is_defined(Derived)) == (True, True)


def test_values_are_read_by_kind_alias_and_name_of_a_later_class() -> None:
    given = {
        "shapes": [{"kind": "box", "w": 2}, {"kind": "circle", "radius": "3"}],
        "frame": {"box": {"width": 4, "name": "frame"}},
    }
    drawing = Drawing.model_validate(given)
    assert drawing.shapes == [Box(width=2), Circle(radius=3)]
    assert drawing.frame == Frame(box=NamedBox(width=4, name="frame"))
    assert drawing.model_dump(mode="json", by_alias=True)["shapes"][0] == {
        "kind": "box",
        "w": 2,
        "area": 4,
    }


def test_what_is_asked_of_the_class_alone_defines_it() -> None:
    def new_box() -> type[Box]:
        class Other(Box):
            depth: int = 1

        return Other

    expected = ["kind", "width", "depth"]
    assert list(new_box().model_fields) == expected
    assert new_box().model_config.get("frozen")
    assert list(TypeAdapter(new_box()).json_schema()["properties"]) == ["kind", "w", "depth"]
    assert [*new_box().__pydantic_computed_fields__] == ["area"]
    assert new_box().model_construct(width=2).area == 4
    assert new_box().model_rebuild() is True
    assert str(new_box().__signature__).startswith("(*, kind:")


def test_validators_methods_and_hashes_are_those_of_the_class() -> None:
    with pytest.raises(ValidationError, match="too wide"):
        NamedBox(width=10)
    box = NamedBox(width=3)
    assert box.describe() == "a box, 3 wide"
    assert hash(box) == hash(NamedBox(width=3))
    with pytest.raises(ValidationError, match="frozen"):
        box.name = "other"


def test_a_model_that_cannot_be_defined_says_so_each_time() -> None:
    class Wrong(LateModel):
        number = 1

    for _ in range(2):
        with pytest.raises(PydanticUserError, match="non-annotated attribute"):
            Wrong()


def test_a_thread_that_asks_during_the_definition_waits_for_it() -> None:
    is_being_defined, is_answered = Event(), Event()

    def alias(name: str) -> str:
        is_being_defined.set()
        is_answered.wait(0.2)  # time for a wrong answer
        return name

    class Slow(LateModel):
        model_config = ConfigDict(alias_generator=alias)

        number: int

    def ask() -> object:
        is_being_defined.wait(HANG_TIMEOUT_SECONDS)
        found = Slow.model_validate({"number": "1"})
        is_answered.set()
        return found.model_dump()

    with ThreadPoolExecutor(1) as pool:
        asked = pool.submit(ask)
        assert Slow(number=2).number == 2
        assert asked.result(HANG_TIMEOUT_SECONDS) == {"number": 1}


def test_threads_that_use_a_model_first_get_the_same() -> None:
    workers = 8
    barrier = Barrier(workers, timeout=HANG_TIMEOUT_SECONDS)

    class Shared(NamedBox):
        depth: int = 1

    def use(number: int) -> str:
        barrier.wait()
        return Shared(width=1, depth=number).describe()

    with ThreadPoolExecutor(workers) as pool:
        assert set(pool.map(use, range(workers))) == {"a box, 1 wide"}
    assert cast("object", Shared(width=2).area) == 4
