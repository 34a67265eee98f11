"""Validation of a raw value for one setting; a mapping may be accepted in part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from acp_server.config.table import type_adapter
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.validation_errors import validation_reason


@frozen_dataclass
class InvalidPart:
    """The reason why part of a value is invalid, without the value: it may be a secret."""

    path: tuple[str | int, ...]
    """Path of keys and indexes to the invalid part; empty for the whole value."""
    reason: str

    def qualified_name(self, name: str) -> str:
        """Return the dotted name of the part, below the name of its setting."""
        return ".".join((name, *map(str, self.path)))


@frozen_dataclass
class ValidatedValue:
    """Result of validating a value."""

    is_usable: bool
    value: object = None
    invalid_parts: tuple[InvalidPart, ...] = ()


def validate_setting(name: str, value: object) -> ValidatedValue:
    """Validate a raw value for a setting.

    The valid entries of a mapping are used: one misspelled MCP server must not disable the others.
    """
    try:
        return ValidatedValue(is_usable=True, value=type_adapter(name).validate_python(value))
    except ValidationError as error:
        invalid_parts = tuple(_find_invalid_parts(value, error))
    invalid_keys = {part.path[0] for part in invalid_parts if part.path}
    if not isinstance(value, dict) or not invalid_keys:
        return ValidatedValue(is_usable=False, invalid_parts=invalid_parts)
    entries = cast("Mapping[object, object]", value)
    valid_entries = {key: entry for key, entry in entries.items() if key not in invalid_keys}
    if not valid_entries:
        return ValidatedValue(is_usable=False, invalid_parts=invalid_parts)
    result = validate_setting(name, valid_entries)
    return ValidatedValue(result.is_usable, result.value, invalid_parts + result.invalid_parts)


def _find_invalid_parts(value: object, error: ValidationError) -> Iterator[InvalidPart]:
    """Yield one complaint per path: for a union, that of its first member."""
    reported: set[tuple[str | int, ...]] = set()
    for details in error.errors(include_url=False, include_input=False):
        path = tuple(_value_path(value, details))
        if path not in reported:
            reported.add(path)
            yield InvalidPart(path, validation_reason(details))


def _value_path(value: object, details: ErrorDetails) -> Iterator[str | int]:
    """Yield the path to an invalid part, without pydantic's names of union members."""
    location = details["loc"]
    for number, step in enumerate(location, 1):
        if isinstance(value, dict) and step in value:
            value = cast("Mapping[object, object]", value)[step]
            yield step
        elif isinstance(value, list | tuple) and isinstance(step, int):
            value = cast("Sequence[object]", value)[step]
            yield step
        elif number == len(location) and details["type"] == "missing":
            yield step
