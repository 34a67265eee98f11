"""What every wire model is: its configuration, its ways in and out, and how forgiving a field is.

Owns the base classes and the annotations that the modules of messages are written with. Knows no
message.

ACP forgives by three flags, and each has its annotations here. `Lenient` and its kin put the
field's default in the place of a value that does not fit; `SiftedArray` drops the items that do
not fit; `NullableArray` and `NullableMap` read null as empty. A field with none of them is
strict: what does not fit is a `ValidationError`.
"""

import json
from collections.abc import Callable
from functools import partial
from operator import is_, not_
from typing import Annotated, Self, TypeAlias, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    OnErrorOmit,
    Strict,
)
from pydantic.alias_generators import to_camel
from pydantic_core import MISSING, CoreSchema, PydanticSerializationError, core_schema

from acp_server.surrogates import mended

T = TypeVar("T")


class OrElse:
    """Puts a default in the place of a value that does not fit: by default, what the type makes.

    An absent value stays absent: whether it may be is for the field to say.
    """

    def __init__(self, make_default: Callable[[], object] | None = None) -> None:
        self.make_default = make_default

    def __get_pydantic_core_schema__(
        self, source: Callable[[], object], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the forgiving schema, behind a link that keeps its default from an absent value."""
        forgiving = core_schema.with_default_schema(
            handler(source), default_factory=self.make_default or source, on_error="default"
        )
        return core_schema.chain_schema([core_schema.any_schema(), forgiving])


class AsItIs:
    """Passes a value through unread, in both directions."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the schema that accepts anything."""
        return core_schema.any_schema()


def _none() -> None: ...


def _missing() -> object:
    return MISSING


def _empty_array_for_null(value: object) -> object:
    return () if value is None else value


def _empty_map_for_null(value: object) -> object:
    return {} if value is None else value


UNLESS_NONE = Field(exclude_if=partial(is_, None))
UNLESS_EMPTY = Field(exclude_if=not_)

Uint16: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 16)]
Uint32: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 32)]
Uint64: TypeAlias = Annotated[int, Field(ge=0, lt=1 << 64)]
Int64: TypeAlias = Annotated[int, Field(ge=-(1 << 63), lt=1 << 63)]
NonEmptyString: TypeAlias = Annotated[str, Field(min_length=1)]

Array: TypeAlias = Annotated[tuple[T, ...], Strict(strict=False)]
"""A JSON array, kept as a tuple. Only the outer type is lax: parsed JSON holds lists."""

Opaque: TypeAlias = Annotated[JsonValue, AsItIs]
"""JSON that nobody reads here, unchecked: pydantic's own check takes 0.16 µs for every node."""

Meta: TypeAlias = dict[str, Opaque]
"""What `_meta` holds: metadata by key, of any kind."""

Omissible: TypeAlias = Annotated[T | None, UNLESS_NONE]
"""None means absent, and is not written."""

Lenient: TypeAlias = Annotated[T | None, OrElse(_none), UNLESS_NONE]
"""As `Omissible`, and a value that does not fit counts as absent."""

Clearable: TypeAlias = Annotated[T | MISSING | None, OrElse(_missing)]
"""MISSING keeps what the receiver has and is not written, None clears it, a value replaces it."""

LenientFlag: TypeAlias = Annotated[bool, OrElse()]
"""Whatever is no boolean is false."""

LenientObject: TypeAlias = Annotated[T, OrElse()]
"""What does not fit becomes an object made of defaults."""

SiftedArray: TypeAlias = Array[OnErrorOmit[T]]
"""Items that do not fit are dropped; whatever is no array is an error."""

LenientArray: TypeAlias = Annotated[SiftedArray[T], OrElse(tuple)]
"""Items that do not fit are dropped; whatever is no array is an empty one."""

NullableArray: TypeAlias = Annotated[Array[T], BeforeValidator(_empty_array_for_null)]
"""Null is an empty array; an item that does not fit is an error."""

NullableMap: TypeAlias = Annotated[dict[str, T], BeforeValidator(_empty_map_for_null)]
"""Null is an empty map; a value that does not fit is an error."""


def _mended_json(value: object) -> bytes:
    """Write JSON with the halves of characters joined, or replaced where they are alone."""
    plain: object = json.loads(json.dumps(value), parse_constant=lambda _: None)
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return mended(text).encode()


class WireModel(BaseModel):
    """A JSON object of the protocol, snake_case here and camelCase there, unchanged once made.

    Unknown keys are ignored on the way in, and cannot be written on the way out.
    """

    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="ignore",
        allow_inf_nan=False,
        alias_generator=to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        defer_build=True,
    )

    @classmethod
    def from_wire(cls, value: object) -> Self:
        """Read parsed JSON, by the wire's names only.

        Raises:
            ValidationError: A strict field is absent or does not fit.
        """
        return cls.model_validate(value, by_name=False)

    def to_json(self) -> bytes:
        """Write compact UTF-8 JSON in one pass; halves of characters become U+FFFD."""
        try:
            return self.__pydantic_serializer__.to_json(self)
        except PydanticSerializationError:  # half a character, or nesting beyond 255 levels
            return _mended_json(self.model_dump())

    def to_wire(self) -> dict[str, JsonValue]:
        """Give the JSON object that `to_json` writes."""
        wire: dict[str, JsonValue] = json.loads(self.to_json())
        return wire


class ExtensibleModel(WireModel):
    """A wire object that may carry `_meta`, which is for whoever put it there."""

    meta: Annotated[Lenient[Meta], Field(alias="_meta")] = None
