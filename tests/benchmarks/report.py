"""Output of the figures: tables, and JSON that can be loaded again."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from tests.benchmarks.figures import AgentFigures, MetricRow
from tests.benchmarks.peers import OWN_AGENT
from tests.benchmarks.rows import LIMITS, RowGroup
from tests.benchmarks.runner import BenchmarkResults

DASH = "—"


def format_tables(results: BenchmarkResults, groups: Sequence[RowGroup]) -> Iterator[str]:
    """Yield the lines of a report: a table per group, followed by the reasons for empty cells."""
    yield f"{results.machine}; load average {results.load:.1f} before the first run"
    yield "Medians ± half of the range; in brackets the ratio to ours, for ours to the limit."
    if results.limits.values:
        yield from _format_limits(results.limits)
    for group in groups:
        yield from _format_table(group, results)


def _format_limits(sheet: AgentFigures) -> Iterator[str]:
    rows = [
        [title, format_figure(sheet, key, "µs" if key == "chunk" else "ms")]
        for key, title in LIMITS.items()
        if key in sheet.values
    ]
    yield from _lines("Physical limits", ["what", "figure"], rows)


def _format_table(group: RowGroup, results: BenchmarkResults) -> Iterator[str]:
    names = [*results.sheets]
    notes: dict[str, int] = {}
    rows: list[list[str]] = []
    for row in group.rows:
        cells = [_format_cell(row, name, results, notes) for name in names]
        unit = f", {row.unit}" if row.unit else ""
        rows.append([f"{row.title}{unit}", *cells])
    yield from _lines(group.title, ["", *names], rows)
    for note, number in notes.items():
        yield f"[{number}] {note}"


def _format_cell(
    row: MetricRow, name: str, results: BenchmarkResults, notes: dict[str, int]
) -> str:
    sheet = results.sheets[name]
    median = sheet.median(row.key)
    if median is None:
        reason = f"{name}: {sheet.notes.get(row.key, 'not measured')}"
        return f"{DASH} [{notes.setdefault(reason, len(notes) + 1)}]"
    unit = results.limits.median(row.limit) if name == OWN_AGENT and row.limit else None
    if name != OWN_AGENT:
        unit = results.sheets[OWN_AGENT].median(row.key) if OWN_AGENT in results.sheets else None
    ratio = f" ({_short(median / unit)}x)" if unit else ""
    return f"{format_figure(sheet, row.key, row.unit)}{ratio}"


def format_figure(sheet: AgentFigures, key: str, unit: str) -> str:
    """Return a median with its spread."""
    values = sheet.values[key]
    median, half = statistics.median(values), half_range(values)
    digits = 0 if unit in {"", "characters"} and median == int(median) else _digits(median)
    return f"{median:,.{digits}f}" + (f" ±{half:,.{digits}f}" if half else "")


def half_range(values: Sequence[float]) -> float:
    """Return half of the range of the values."""
    return (max(values) - min(values)) / 2


def _digits(value: float) -> int:
    return 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def _lines(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table that is valid Markdown too."""
    widths = [max(len(line[column]) for line in [head, *rows]) for column in range(len(head))]
    yield f"\n### {title}\n"
    yield _line(head, widths)
    yield _line(["-" * width for width in widths], widths)
    for row in rows:
        yield _line(row, widths)
    yield ""


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *others = zip(cells, widths, strict=True)
    padded = [first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in others)]
    return f"| {' | '.join(padded)} |"


def save(results: BenchmarkResults, path: Path) -> None:
    """Write all results as JSON."""
    sheets = {name: _sheet_to_json(sheet) for name, sheet in results.sheets.items()}
    document = {
        "machine": results.machine,
        "load": results.load,
        "limits": _sheet_to_json(results.limits),
        "agents": sheets,
    }
    path.write_text(json.dumps(document, indent=1), encoding="utf-8")


def _sheet_to_json(sheet: AgentFigures) -> Mapping[str, object]:
    return {"values": sheet.values, "notes": sheet.notes}


def read(path: Path) -> BenchmarkResults:
    """Load saved results."""
    document = json.loads(path.read_text(encoding="utf-8"))
    agents = cast("Mapping[str, Mapping[str, object]]", document["agents"])
    return BenchmarkResults(
        {name: _sheet_from_json(plain) for name, plain in agents.items()},
        _sheet_from_json(document["limits"]),
        str(document["machine"]),
        float(document["load"]),
    )


def _sheet_from_json(plain: Mapping[str, object]) -> AgentFigures:
    values = cast("dict[str, list[float]]", plain["values"])
    return AgentFigures(values, cast("dict[str, str]", plain["notes"]))
