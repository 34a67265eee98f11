"""Totals of a fleet: pass rate, cost, tokens, times and attempts, by tag and by model. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from acp_server.fleet.reports.statistics import pass_at_k, percentile, wilson_interval
from acp_server.fleet.results import UnitResult

DEFAULT_MODEL = "(default)"


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """Totals of a group of units."""

    total: int
    passed: int
    not_run: int
    attempts: int
    cost_usd: float | None
    """With what is assumed; None if no price is known."""
    assumed_usd: float
    """The part of the cost that is assumed: limits of attempts of unknown cost."""
    input_tokens: int
    """With those that came from the prompt cache."""
    output_tokens: int
    seconds_p50: float | None
    seconds_p90: float | None
    pass_at: Mapping[int, float]
    """Pass@k by k, up to the number of repeats that all tasks have; empty without repeats."""

    @property
    def tried(self) -> int:
        """How many units have run."""
        return self.total - self.not_run

    @property
    def failed(self) -> int:
        """How many units have run and did not pass."""
        return self.tried - self.passed

    @property
    def pass_rate(self) -> float | None:
        """Share of the units that passed, of those that have run; None if none has."""
        return self.passed / self.tried if self.tried else None

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson interval of the pass rate, for a confidence of 95 %."""
        return wilson_interval(self.passed, self.tried)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the totals as JSON."""
        low, high = self.interval
        return {
            "total": self.total,
            "passed": self.passed,
            "failed": self.failed,
            "not_run": self.not_run,
            "pass_rate": _rounded(self.pass_rate),
            "pass_rate_95": [_rounded(low), _rounded(high)],
            "pass_at_k": {str(k): _rounded(each) for k, each in self.pass_at.items()},
            "attempts": self.attempts,
            "cost_usd": _rounded(self.cost_usd, 6),
            "assumed_usd": _rounded(self.assumed_usd, 6),
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "seconds_p50": _rounded(self.seconds_p50, 3),
            "seconds_p90": _rounded(self.seconds_p90, 3),
        }


@dataclass(frozen=True, slots=True)
class FleetSummary:
    """Totals of a whole fleet and of its groups."""

    whole: GroupSummary
    by_model: Mapping[str, GroupSummary]
    by_tag: Mapping[str, GroupSummary]

    def as_json(self) -> dict[str, JsonValue]:
        """Return all totals as JSON."""
        return {
            **self.whole.as_json(),
            "by_model": {name: each.as_json() for name, each in self.by_model.items()},
            "by_tag": {name: each.as_json() for name, each in self.by_tag.items()},
        }


def summarize(results: Sequence[UnitResult]) -> FleetSummary:
    """Return the totals of results; a unit with several tags counts for each."""
    return FleetSummary(
        summarize_group(results),
        _groups(results, lambda each: (model_of(each),)),
        _groups(results, lambda each: each.tags),
    )


def summarize_group(results: Sequence[UnitResult]) -> GroupSummary:
    """Return the totals of one group."""
    ran = [each for each in results if each.has_run]
    # Of all units: one that was not run may have cost something in an earlier run.
    costs = [each.counted_usd for each in results if each.counted_usd is not None]
    has_unknown = any(each.counted_usd is None for each in ran)
    seconds = [each.seconds for each in ran]
    usages = [each.usage for each in ran]
    return GroupSummary(
        total=len(results),
        passed=sum(each.is_passed for each in ran),
        not_run=len(results) - len(ran),
        attempts=sum(each.attempts for each in ran),
        # Zero for some beside an unknown cost of others is no total.
        cost_usd=sum(costs) if any(costs) or (costs and not has_unknown) else None,
        assumed_usd=sum(each.assumed_usd for each in results),
        input_tokens=sum(
            each.input_tokens + each.cache_read_tokens + each.cache_write_tokens for each in usages
        ),
        output_tokens=sum(each.output_tokens for each in usages),
        seconds_p50=percentile(seconds, 0.5),
        seconds_p90=percentile(seconds, 0.9),
        pass_at=_pass_at(ran),
    )


def model_of(result: UnitResult) -> str:
    """Return the model of a result: as asked for, else as answered."""
    return result.model or result.answered_by or DEFAULT_MODEL


def _pass_at(results: Iterable[UnitResult]) -> Mapping[int, float]:
    by_task: dict[tuple[str, str], list[bool]] = {}
    for each in results:
        by_task.setdefault((each.task, model_of(each)), []).append(each.is_passed)
    repeats = min((len(each) for each in by_task.values()), default=0)
    if repeats < 2:  # noqa: PLR2004  one try is the pass rate
        return {}
    return {
        k: sum(pass_at_k(len(each), sum(each), k) for each in by_task.values()) / len(by_task)
        for k in range(1, repeats + 1)
    }


def _groups(
    results: Sequence[UnitResult], names_of: Callable[[UnitResult], Iterable[str]]
) -> Mapping[str, GroupSummary]:
    members: dict[str, list[UnitResult]] = {}
    for each in results:
        for name in names_of(each):
            members.setdefault(name, []).append(each)
    return {name: summarize_group(members[name]) for name in sorted(members)}


def _rounded(value: float | None, digits: int = 4) -> float | None:
    return None if value is None else round(value, digits)
