"""Markdown summary of a fleet, also for the step of a pipeline: totals, then failures. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from acp_server.fleet.outcomes import BY_SEVERITY
from acp_server.fleet.reports.summary import FleetSummary, GroupSummary, model_of
from acp_server.fleet.reports.texts import HEADINGS, cost_text, row_of, seconds_text
from acp_server.fleet.results import UnitResult

MAX_ROWS = 50
MAX_REASON_CHARACTERS = 200
_SPECIAL = str.maketrans({each: f"\\{each}" for each in "\\`*_{}[]<>|~#"})


def markdown_summary(
    results: Sequence[UnitResult], summary: FleetSummary, clean: Callable[[str], str]
) -> str:
    """Return the summary; `clean` removes secrets and control characters from a text."""
    whole = summary.whole
    head = f"### acp-server: {whole.passed} of {whole.total} tasks passed"
    lines = [head, "", *_table({"all": whole}, "", clean)]
    if whole.assumed_usd:
        assumed = cost_text(whole.assumed_usd)
        lines += [
            "",
            f"{assumed} of the cost is assumed: attempts of unknown cost count as their limit.",
        ]
    if whole.pass_at:
        shown = ", ".join(f"pass@{k} {100 * each:.0f} %" for k, each in whole.pass_at.items())
        lines += ["", shown]
    for name, groups in (("model", summary.by_model), ("tag", summary.by_tag)):
        if len(groups) > 1 or (groups and name == "tag"):
            lines += ["", *_table(groups, name, clean)]
    lines += _failures(results, clean)
    return "\n".join(lines) + "\n"


def _table(
    groups: Mapping[str, GroupSummary], name: str, clean: Callable[[str], str]
) -> Iterator[str]:
    yield f"| {' | '.join((name, *HEADINGS))} |"
    yield f"|{'---|' * (len(HEADINGS) + 1)}"
    for label, group in groups.items():
        yield f"| {' | '.join((_escape(clean(label)), *row_of(group)))} |"


def _failures(results: Sequence[UnitResult], clean: Callable[[str], str]) -> Iterator[str]:
    failed = [each for each in results if not each.is_passed]
    if not failed:
        return
    failed.sort(key=lambda each: BY_SEVERITY.index(each.outcome))
    yield from ("", "#### Not passed", "", "| task | outcome | reason | model | attempts | time |")
    yield "|---|---|---|---|---|---|"
    for each in failed[:MAX_ROWS]:
        reason = " ".join(clean(each.reason).split())
        if len(reason) > MAX_REASON_CHARACTERS:
            reason = f"{reason[:MAX_REASON_CHARACTERS]} …"
        cells = (each.id, each.outcome, reason, model_of(each))
        time = seconds_text(each.seconds) if each.has_run else ""
        yield f"| {' | '.join(_escape(clean(cell)) for cell in cells)} | {each.attempts} | {time} |"
    if len(failed) > MAX_ROWS:
        yield from (
            "",
            f"… and {len(failed) - MAX_ROWS} more; report.json and report.html have all.",
        )


def _escape(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line of a table."""
    return " ".join(text.split()).translate(_SPECIAL)
