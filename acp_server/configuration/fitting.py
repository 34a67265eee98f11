"""Whether a raw value fits a setting: what of it does, and where and why the rest does not."""

from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from acp_server.configuration.table import adapter
from acp_server.frozen import frozen


@frozen
class Complaint:
    """Why a part of a value does not fit. Never repeats the value, which may be a secret."""

    where: tuple[str | int, ...]
    """Keys and numbers that lead to the part; empty for the whole."""
    reason: str

    def named(self, name: str) -> str:
        """Return the name of the part, in a setting that is called so."""
        return ".".join((name, *map(str, self.where)))


@frozen
class Fit:
    """What came of a value."""

    is_usable: bool
    value: object = None
    complaints: tuple[Complaint, ...] = ()


def fit(name: str, value: object) -> Fit:
    """Validate a raw value for the setting of a name.

    Of a mapping the entries that fit are used: one server that is written wrongly must not take
    the others along.
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
    """Return a complaint for each place: of the kinds that a value might be, the first's."""
    told: set[tuple[str | int, ...]] = set()
    for details in error.errors(include_url=False, include_input=False):
        where = tuple(_steps(value, details))
        if where not in told:
            told.add(where)
            yield Complaint(where, details["msg"].removeprefix("Value error, "))


def _steps(value: object, details: ErrorDetails) -> Iterator[str | int]:
    """Return the way to a part, without what names the kinds that a value might be."""
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
