"""The words for what was measured: rows, figures, and what is left of several runs."""

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tests.benchmarks.agent import AgentError

Figure = float | AgentError
"""What was measured, or why it could not be."""
Figures = Iterator[tuple[str, Figure]]
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

    def add(self, key: str, figure: Figure) -> None:
        """Keep one more figure, or why there is none."""
        if isinstance(figure, AgentError):
            self.notes.setdefault(key, str(figure))
        else:
            self.values.setdefault(key, []).append(figure)

    def median(self, key: str) -> float | None:
        """Return the median of a row; None if there is no figure."""
        values = self.values.get(key)
        return statistics.median(values) if values else None


def attempt(work: Callable[[], float]) -> Figure:
    """Return what something measures, or why it could not: the rest of the group goes on."""
    try:
        return work()
    except AgentError as error:
        return error
