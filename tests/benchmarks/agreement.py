"""Whether several runs of the whole benchmark agree, row by row.

The medians of a row agree if none is farther from the middle one than the stated spread: half of
the range within a run (the widest of them), a tenth of the figure, or what a clock tick is worth.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.report import spread
from tests.benchmarks.rows import Group
from tests.benchmarks.running import Results

LEAST_SHARE = 0.1
LEAST = {"ms": 1.0, "µs": 5.0, "MiB": 1.0, "s": 0.05}


@dataclass(frozen=True, slots=True)
class Agreement:
    """What several runs say of one row."""

    agent: str
    title: str
    unit: str
    medians: Sequence[float]
    spread: float

    @property
    def agrees(self) -> bool:
        """Whether all lie within the spread of the middle one."""
        middle = statistics.median(self.medians)
        return all(abs(median - middle) <= self.spread for median in self.medians)


def agreements(runs: Sequence[Results], groups: Sequence[Group]) -> Iterator[Agreement]:
    """Yield what the runs say of each row that all of them have."""
    for name in runs[0].sheets:
        sheets = [run.sheets[name] for run in runs if name in run.sheets]
        for row in (row for group in groups for row in group.rows):
            found = [sheet.values[row.key] for sheet in sheets if row.key in sheet.values]
            if len(found) < len(runs):
                continue
            medians = [statistics.median(values) for values in found]
            middle = statistics.median(medians)
            least = max(LEAST.get(row.unit, 0.0), LEAST_SHARE * abs(middle))
            widest = max(least, *(spread(values) for values in found))
            yield Agreement(name, row.title, row.unit, medians, widest)


def lines(found: Sequence[Agreement]) -> Iterator[str]:
    """Yield what does not agree, and how many do."""
    for each in found:
        if not each.agrees:
            medians = ", ".join(f"{median:,.2f}" for median in each.medians)
            told = f"medians {medians} {each.unit}; stated spread ±{each.spread:,.2f}"
            yield f"DISAGREE  {each.agent}: {each.title}: {told}"
    count = sum(each.agrees for each in found)
    yield f"{count} of {len(found)} rows agree within their spread"
