"""Comparison of two fleets by their tasks: who solved what, ratios, and paired tests. Pure.

A task is compared with itself. If it was repeated, its pass rates are compared. The test is exact:
for tasks that ran once it is McNemar's.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log

from pydantic import JsonValue

from acp_server.fleet.reports.statistics import exact_sign_test
from acp_server.fleet.reports.summary import GroupSummary, summarize_group
from acp_server.fleet.reports.texts import cost_text, p_text, rate_text, seconds_text, tokens_text
from acp_server.fleet.results import UnitResult

MAX_LISTED = 50
SIGNIFICANT = 0.05
_MEASURES: Mapping[str, Callable[[Sequence[UnitResult]], float | None]] = {
    "cost": lambda runs: _mean(each.cost_usd for each in runs if each.cost_usd is not None),
    "tokens": lambda runs: _mean(float(_tokens(each)) for each in runs),
    "time": lambda runs: _mean(each.seconds for each in runs),
}


@dataclass(frozen=True, slots=True)
class PairedMeasure:
    """A measure of tasks that ran in both fleets."""

    name: str
    pairs: int
    ratio: float | None
    """Geometric mean of the second fleet's values over the first's; None without pairs."""
    less: int
    """Tasks for which the second fleet used less."""
    more: int
    p_value: float

    def as_json(self) -> dict[str, JsonValue]:
        """Return the measure as JSON."""
        return {
            "pairs": self.pairs,
            "ratio": None if self.ratio is None else round(self.ratio, 4),
            "less": self.less,
            "more": self.more,
            "p_value": round(self.p_value, 6),
        }


@dataclass(frozen=True, slots=True)
class FleetComparison:
    """Comparison of two fleets."""

    first: GroupSummary
    """Totals of the first fleet, of the tasks that ran in both."""
    second: GroupSummary
    common: int
    """Tasks that ran in both."""
    only_in_first: tuple[str, ...]
    """Tasks that did not run in the second."""
    only_in_second: tuple[str, ...]
    solved_by_first: tuple[str, ...]
    """Tasks that pass more often in the first."""
    solved_by_second: tuple[str, ...]
    p_value: float
    measures: tuple[PairedMeasure, ...]
    differing: Mapping[str, tuple[str, str]]
    """Versions, models and digests that differ, by name."""

    def as_json(self) -> dict[str, JsonValue]:
        """Return the comparison as JSON."""
        return {
            "tasks": self.common,
            "first": self.first.as_json(),
            "second": self.second.as_json(),
            "only_in_first": [*self.only_in_first],
            "only_in_second": [*self.only_in_second],
            "solved_by_first_only": [*self.solved_by_first],
            "solved_by_second_only": [*self.solved_by_second],
            "p_value": round(self.p_value, 6),
            **{each.name: each.as_json() for each in self.measures},
            "differing": {name: [*each] for name, each in self.differing.items()},
        }

    def lines(self, names: tuple[str, str]) -> Iterator[str]:
        """Yield the comparison for people; the names are those of the fleets."""
        one, two = names
        yield f"{self.common} tasks ran in both"
        for label, tasks in ((one, self.only_in_first), (two, self.only_in_second)):
            if tasks:
                yield f"only in {label}: {_listed(tasks)}"
        yield ""
        rows = (
            ("", one, two),
            ("pass rate (95 %)", rate_text(self.first), rate_text(self.second)),
            ("cost", cost_text(self.first.cost_usd), cost_text(self.second.cost_usd)),
            ("tokens in", *(tokens_text(each.input_tokens) for each in (self.first, self.second))),
            (
                "tokens out",
                *(tokens_text(each.output_tokens) for each in (self.first, self.second)),
            ),
            ("time p50", *(seconds_text(each.seconds_p50) for each in (self.first, self.second))),
            ("time p90", *(seconds_text(each.seconds_p90) for each in (self.first, self.second))),
        )
        widths = [max(len(row[column]) for row in rows) for column in range(3)]
        for row in rows:
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield "  ".join(cells).rstrip()
        yield ""
        yield f"passed by {one} only: {_listed(self.solved_by_first)}"
        yield f"passed by {two} only: {_listed(self.solved_by_second)}"
        verdict = "probably not chance" if self.p_value < SIGNIFICANT else "may be chance"
        yield f"difference: {p_text(self.p_value)} (exact paired test), {verdict}"
        for each in self.measures:
            if each.ratio is not None:
                yield (
                    f"{each.name}: {two} needs {each.ratio:.2f} times as much as {one} "
                    f"(less for {each.less}, more for {each.more} tasks, {p_text(each.p_value)})"
                )
        for name, (before, after) in self.differing.items():
            yield f"{name}: {before or '-'} / {after or '-'}"


def compare_fleets(first: Sequence[UnitResult], second: Sequence[UnitResult]) -> FleetComparison:
    """Compare two fleets."""
    before, after = _by_task(first), _by_task(second)
    common = [task for task in before if task in after]
    rates = {task: (_rate(before[task]), _rate(after[task])) for task in common}
    better = tuple(task for task, (one, two) in rates.items() if one > two)
    worse = tuple(task for task, (one, two) in rates.items() if two > one)
    pairs = [(before[task], after[task]) for task in common]
    return FleetComparison(
        first=summarize_group([each for runs, _ in pairs for each in runs]),
        second=summarize_group([each for _, runs in pairs for each in runs]),
        common=len(common),
        only_in_first=tuple(task for task in before if task not in after),
        only_in_second=tuple(task for task in after if task not in before),
        solved_by_first=better,
        solved_by_second=worse,
        p_value=exact_sign_test(len(better), len(worse)),
        measures=tuple(_measure(name, pairs) for name in _MEASURES),
        differing=_differing(first, second),
    )


def _by_task(results: Sequence[UnitResult]) -> dict[str, list[UnitResult]]:
    found: dict[str, list[UnitResult]] = {}
    for each in results:
        if each.has_run:
            found.setdefault(each.task, []).append(each)
    return found


def _rate(runs: Sequence[UnitResult]) -> float:
    return sum(each.is_passed for each in runs) / len(runs)


def _measure(
    name: str, pairs: Sequence[tuple[Sequence[UnitResult], Sequence[UnitResult]]]
) -> PairedMeasure:
    measure = _MEASURES[name]
    values = [
        (one, two)
        for before, after in pairs
        if (one := measure(before)) and (two := measure(after))
    ]
    less, more = sum(two < one for one, two in values), sum(two > one for one, two in values)
    ratio = exp(sum(log(two / one) for one, two in values) / len(values)) if values else None
    return PairedMeasure(name, len(values), ratio, less, more, exact_sign_test(less, more))


def _differing(
    first: Sequence[UnitResult], second: Sequence[UnitResult]
) -> dict[str, tuple[str, str]]:
    before, after = _facts_of(first), _facts_of(second)
    return {
        name: (", ".join(before.get(name, ())), ", ".join(after.get(name, ())))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    }


def _facts_of(results: Sequence[UnitResult]) -> dict[str, list[str]]:
    found: dict[str, set[str]] = {}
    for each in results:
        facts = {"acp-server": each.server, "model": each.model, "answered by": each.answered_by}
        facts |= {f"{name} digest": value[:12] for name, value in each.digests.items()}
        for name, value in facts.items():
            if value:
                found.setdefault(name, set()).add(value)
    return {name: sorted(values) for name, values in found.items()}


def _mean(values: Iterator[float]) -> float | None:
    found = [*values]
    return sum(found) / len(found) if found else None


def _tokens(result: UnitResult) -> int:
    usage = result.usage
    read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
    return read + usage.output_tokens


def _listed(tasks: Sequence[str]) -> str:
    shown = ", ".join(tasks[:MAX_LISTED]) or "none"
    return f"{shown} … and {len(tasks) - MAX_LISTED} more" if len(tasks) > MAX_LISTED else shown
