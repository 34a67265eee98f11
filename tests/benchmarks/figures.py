"""Data types of the benchmark: rows, figures, and the collected values of several runs."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.benchmarks.agent import AgentError

Figure = float | AgentError
"""A measured value, or the reason why it could not be measured."""
Figures = Iterator[tuple[str, Figure]]
"""Pairs of row key and figure, as a group produces them."""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One measured quantity."""

    key: str
    title: str
    unit: str
    limit: str | None = None
    """Key of the machine's own limit, shown next to the row."""
    is_higher_better: bool = False


@dataclass(slots=True)
class AgentFigures:
    """All values measured for one agent."""

    values: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    notes: dict[str, str] = field(default_factory=dict[str, str])
    """Reason why there is no figure, by row key."""

    def add(self, key: str, figure: Figure) -> None:
        """Add a figure, or the reason why there is none."""
        if isinstance(figure, AgentError):
            self.notes.setdefault(key, str(figure))
        else:
            self.values.setdefault(key, []).append(figure)

    def median(self, key: str) -> float | None:
        """Return the median of a row, or None without values."""
        values = self.values.get(key)
        return statistics.median(values) if values else None


def measure_or_error(work: Callable[[], float]) -> Figure:
    """Return the result of a measurement, or its error so that the group can continue."""
    try:
        return work()
    except AgentError as error:
        return error
