"""The words for what was measured: rows, figures, and what is left of several runs."""

import statistics
from collections.abc import Iterator
from dataclasses import dataclass, field

Figures = Iterator[tuple[str, float]]
"""Keys of rows with figures, as a group comes to them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that is measured."""

    key: str
    title: str
    unit: str
    limit: str | None = None
    """The physical limit that stands beside it."""
    is_more_better: bool = False


@dataclass(slots=True)
class Sheet:
    """What was measured of one agent."""

    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """Why there is no figure, by row."""

    def add(self, key: str, value: float) -> None:
        """Keep one more figure."""
        self.values.setdefault(key, []).append(value)

    def median(self, key: str) -> float | None:
        """Return the median of a row; None if there is no figure."""
        values = self.values.get(key)
        return statistics.median(values) if values else None
