"""Base classes and field annotations of all wire models.

The ACP schema has three leniency flags, and each has annotations here. `Lenient`, `LenientFlag`,
`LenientObject` and `LenientArray` replace an invalid value by the field's default; `FilteredArray`
drops invalid items; `NullableArray` and `NullableMap` read null as empty. A field without any of
these is strict: an invalid value raises `ValidationError`.
"""

import json
from collections.abc import Callable
from functools import partial
from operator import is_, not_
from typing import Annotated, Self, TypeAlias, TypeVar

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    JsonValue,
    OnErrorOmit,
    Strict,
)
from pydantic.alias_generators import to_camel
from pydantic_core import (
    MISSING,
    CoreSchema,
    PydanticSerializationError,
    PydanticUndefined,
    core_schema,
)

from acp_server.startup.late_models import LateModel
from acp_server.text.surrogates import repair_surrogates

T = TypeVar("T")


class DefaultOnError:
    """Annotation that replaces an invalid value by a default: `default`, else `type()`.

    An absent value stays absent: the field decides whether it is required.
    """

    def __init__(self, default: object = PydanticUndefined) -> None:
        self.default = default

    def __get_pydantic_core_schema__(
        self, source: Callable[[], object], handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the schema; the chain keeps its default from applying to absent values."""
        default_schema = core_schema.with_default_schema(
            handler(source),
            default=self.default,
            default_factory=source if self.default is PydanticUndefined else None,
            on_error="default",
        )
        return core_schema.chain_schema([core_schema.any_schema(), default_schema])


class UncheckedJson:
    """Annotation that skips validation and serialization of a value."""

    @classmethod
    def __get_pydantic_core_schema__(
        cls, _source: object, _handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Build the schema that accepts anything."""
        return core_schema.any_schema()


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
"""A JSON array as a tuple. Only the outer type is lax: parsed JSON has lists."""

Opaque: TypeAlias = Annotated[JsonValue, UncheckedJson]
"""Unvalidated JSON: pydantic's JsonValue would take 0.16 µs per node."""

Meta: TypeAlias = dict[str, Opaque]
"""The type of `_meta`: arbitrary metadata by key."""

Omissible: TypeAlias = Annotated[T | None, UNLESS_NONE]
"""None means absent and is not serialized."""

Lenient: TypeAlias = Annotated[T | None, DefaultOnError(None), UNLESS_NONE]
"""Like `Omissible`, and an invalid value counts as absent."""

Clearable: TypeAlias = Annotated[T | MISSING | None, DefaultOnError(MISSING)]
"""MISSING keeps the receiver's value and is not serialized; None clears it."""

LenientFlag: TypeAlias = Annotated[bool, DefaultOnError()]
"""A boolean; an invalid value is false."""

LenientObject: TypeAlias = Annotated[T, DefaultOnError()]
"""An object; an invalid value becomes an object with default fields."""

FilteredArray: TypeAlias = Array[OnErrorOmit[T]]
"""Invalid items are dropped; a value that is not an array is an error."""

LenientArray: TypeAlias = Annotated[FilteredArray[T], DefaultOnError(())]
"""Invalid items are dropped; a value that is not an array is an empty one."""

NullableArray: TypeAlias = Annotated[Array[T], BeforeValidator(_empty_array_for_null)]
"""Null is an empty array; an invalid item is an error."""

NullableMap: TypeAlias = Annotated[dict[str, T], BeforeValidator(_empty_map_for_null)]
"""Null is an empty map; an invalid value is an error."""


def _json_without_surrogates(value: object) -> bytes:
    """Serialize to JSON with surrogate pairs joined and lone surrogates replaced."""
    parsed: object = json.loads(json.dumps(value), parse_constant=lambda _: None)
    text = json.dumps(parsed, ensure_ascii=False, separators=(",", ":"))
    return repair_surrogates(text).encode()


class WireModel(LateModel):
    """Immutable JSON object of the protocol: snake_case in Python, camelCase on the wire.

    Unknown keys are ignored when reading and cannot be set when writing.
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
        """Validate parsed JSON; only wire names are accepted, not Python names.

        Raises:
            ValidationError: A strict field is missing or invalid.
        """
        return cls.model_validate(value, by_name=False)

    def to_json(self) -> bytes:
        """Serialize to compact UTF-8 JSON; lone surrogates become U+FFFD."""
        try:
            return self.__pydantic_serializer__.to_json(self)
        except PydanticSerializationError:  # a lone surrogate, or more than 255 levels
            return _json_without_surrogates(self.model_dump())

    def to_wire(self) -> dict[str, JsonValue]:
        """Return the JSON object that `to_json` serializes."""
        wire: dict[str, JsonValue] = json.loads(self.to_json())
        return wire


class ExtensibleModel(WireModel):
    """Wire object with an optional `_meta`, reserved for extensions."""

    meta: Annotated[Lenient[Meta], Field(alias="_meta")] = None
