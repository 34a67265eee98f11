"""Validation of JUnit reports against the schema that Jenkins uses."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xmlschema import XMLSchema

SCHEMA = Path(__file__).parent / "schemas/junit-10.xsd"


@cache
def _schema() -> "XMLSchema":
    """Return the schema; its package is not imported where no report is validated."""
    from xmlschema import XMLSchema  # noqa: PLC0415  slow to import

    return XMLSchema(SCHEMA)


def problems_of(report: bytes) -> list[str]:
    """Return the schema violations of a report."""
    return [
        f"{error.path}: {error.reason}" for error in _schema().iter_errors(report.decode("utf-8"))
    ]
