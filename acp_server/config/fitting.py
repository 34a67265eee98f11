"""Validation of a raw value for one setting; a mapping may be accepted in part."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from acp_server.config.table import adapter
from acp_server.startup.fast_dataclass import frozen


@frozen
class Complaint:
    """The reason why part of a value is invalid, without the value: it may be a secret."""

    where: tuple[str | int, ...]
    """Path of keys and indexes to the invalid part; empty for the whole value."""
    reason: str

    def named(self, name: str) -> str:
        """Return the dotted name of the part, below the name of its setting."""
        return ".".join((name, *map(str, self.where)))


@frozen
class Fit:
    """Result of validating a value."""

    is_usable: bool
    value: object = None
    complaints: tuple[Complaint, ...] = ()


def fit(name: str, value: object) -> Fit:
    """Validate a raw value for a setting.

    The valid entries of a mapping are used: one misspelled MCP server must not disable the others.
    """
    try:
        return Fit(is_usable=True, value=adapter(name).validate_python(value))
    except ValidationError as error:
        complaints = tuple(_complaints(value, error))
    bad = {complaint.where[0] for complaint in complaints if complaint.where}
    if not isinstance(value, dict) or not bad:
        return Fit(is_usable=False, complaints=complaints)
    entries = cast("Mapping[object, object]", value)
    kept = {key: entry for key, entry in entries.items() if key not in bad}
    if not kept:
        return Fit(is_usable=False, complaints=complaints)
    rest = fit(name, kept)
    return Fit(rest.is_usable, rest.value, complaints + rest.complaints)


def _complaints(value: object, error: ValidationError) -> Iterator[Complaint]:
    """Yield one complaint per path: for a union, that of its first member."""
    told: set[tuple[str | int, ...]] = set()
    for details in error.errors(include_url=False, include_input=False):
        where = tuple(_steps(value, details))
        if where not in told:
            told.add(where)
            yield Complaint(where, details["msg"].removeprefix("Value error, "))


def _steps(value: object, details: ErrorDetails) -> Iterator[str | int]:
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
