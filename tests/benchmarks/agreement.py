"""Whether several complete benchmark results agree, row by row.

Two medians agree if their intervals (median plus or minus half of the run's range) overlap, or if
they differ by no more than a tenth of the figure or one clock tick. A row agrees if each of its
medians agrees with the middle one.
"""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.benchmarks.report import half_range
from tests.benchmarks.rows import RowGroup
from tests.benchmarks.runner import BenchmarkResults

RELATIVE_TOLERANCE = 0.1
ABSOLUTE_TOLERANCES = {"ms": 1.0, "µs": 5.0, "MiB": 1.0, "s": 0.05}
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Agreement:
    """Medians of one row in several benchmark results."""

    agent: str
    title: str
    unit: str
    medians: Sequence[float]
    spreads: Sequence[float]
    tolerance: float
    """Largest accepted difference between two medians, whatever their spread."""

    @property
    def agrees(self) -> bool:
        """Whether each median agrees with the middle one."""
        ordered = sorted(zip(self.medians, self.spreads, strict=True))
        middle, middle_spread = ordered[len(ordered) // 2]
        return all(
            abs(median - middle) <= max(self.tolerance, spread + middle_spread) + _ROUNDING
            for median, spread in zip(self.medians, self.spreads, strict=True)
        )


def compare_runs(
    runs: Sequence[BenchmarkResults], groups: Sequence[RowGroup]
) -> Iterator[Agreement]:
    """Yield an `Agreement` for each row that all results contain."""
    for name in runs[0].sheets:
        sheets = [run.sheets[name] for run in runs if name in run.sheets]
        for row in (row for group in groups for row in group.rows):
            found = [sheet.values[row.key] for sheet in sheets if row.key in sheet.values]
            if len(found) < len(runs):
                continue
            medians = [statistics.median(values) for values in found]
            middle = statistics.median(medians)
            least = max(ABSOLUTE_TOLERANCES.get(row.unit, 0.0), RELATIVE_TOLERANCE * abs(middle))
            spreads = [half_range(values) for values in found]
            yield Agreement(name, row.title, row.unit, medians, spreads, least)


def format_lines(found: Sequence[Agreement]) -> Iterator[str]:
    """Yield a line per disagreeing row, then the number of agreeing rows."""
    for each in found:
        if not each.agrees:
            stated = zip(each.medians, each.spreads, strict=True)
            values = ", ".join(f"{median:,.2f} ±{spread:,.2f}" for median, spread in stated)
            yield f"DISAGREE  {each.agent}: {each.title}: {values} {each.unit}".rstrip()
    count = sum(each.agrees for each in found)
    yield f"{count} of {len(found)} rows agree within their spread"
