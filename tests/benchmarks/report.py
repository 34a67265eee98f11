"""Output of the figures: tables, and JSON that can be loaded again."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

from tests.benchmarks.figures import Row, Sheet
from tests.benchmarks.peers import OURS
from tests.benchmarks.rows import LIMITS, Group
from tests.benchmarks.runner import Results

DASH = "—"


def tables(results: Results, groups: Sequence[Group]) -> Iterator[str]:
    """Yield the lines of a report: a table per group, followed by the reasons for empty cells."""
    yield f"{results.machine}; load average {results.load:.1f} before the first run"
    yield "Medians ± half of the range; in brackets the ratio to ours, for ours to the limit."
    if results.limits.values:
        yield from _limits(results.limits)
    for group in groups:
        yield from _table(group, results)


def _limits(sheet: Sheet) -> Iterator[str]:
    rows = [
        [title, figure(sheet, key, "µs" if key == "chunk" else "ms")]
        for key, title in LIMITS.items()
        if key in sheet.values
    ]
    yield from _lines("Physical limits", ["what", "figure"], rows)


def _table(group: Group, results: Results) -> Iterator[str]:
    names = [*results.sheets]
    notes: dict[str, int] = {}
    rows: list[list[str]] = []
    for row in group.rows:
        cells = [_cell(row, name, results, notes) for name in names]
        unit = f", {row.unit}" if row.unit else ""
        rows.append([f"{row.title}{unit}", *cells])
    yield from _lines(group.title, ["", *names], rows)
    for note, number in notes.items():
        yield f"[{number}] {note}"


def _cell(row: Row, name: str, results: Results, notes: dict[str, int]) -> str:
    sheet = results.sheets[name]
    median = sheet.median(row.key)
    if median is None:
        reason = f"{name}: {sheet.notes.get(row.key, 'not measured')}"
        return f"{DASH} [{notes.setdefault(reason, len(notes) + 1)}]"
    unit = results.limits.median(row.limit) if name == OURS and row.limit else None
    if name != OURS:
        unit = results.sheets[OURS].median(row.key) if OURS in results.sheets else None
    ratio = f" ({_short(median / unit)}x)" if unit else ""
    return f"{figure(sheet, row.key, row.unit)}{ratio}"


def figure(sheet: Sheet, key: str, unit: str) -> str:
    """Return a median with its spread."""
    values = sheet.values[key]
    median, half = statistics.median(values), spread(values)
    digits = 0 if unit in {"", "characters"} and median == int(median) else _digits(median)
    return f"{median:,.{digits}f}" + (f" ±{half:,.{digits}f}" if half else "")


def spread(values: Sequence[float]) -> float:
    """Return half of the range of the values."""
    return (max(values) - min(values)) / 2


def _digits(value: float) -> int:
    return 2 if abs(value) < 10 else 1 if abs(value) < 100 else 0


def _short(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def _lines(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table that is valid Markdown too."""
    widths = [max(len(line[place]) for line in [head, *rows]) for place in range(len(head))]
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


def save(results: Results, path: Path) -> None:
    """Write all results as JSON."""
    sheets = {name: _plain(sheet) for name, sheet in results.sheets.items()}
    whole = {
        "machine": results.machine,
        "load": results.load,
        "limits": _plain(results.limits),
        "agents": sheets,
    }
    path.write_text(json.dumps(whole, indent=1), encoding="utf-8")


def _plain(sheet: Sheet) -> Mapping[str, object]:
    return {"values": sheet.values, "notes": sheet.notes}


def read(path: Path) -> Results:
    """Load saved results."""
    whole = json.loads(path.read_text(encoding="utf-8"))
    agents = cast("Mapping[str, Mapping[str, object]]", whole["agents"])
    return Results(
        {name: _sheet(plain) for name, plain in agents.items()},
        _sheet(whole["limits"]),
        str(whole["machine"]),
        float(whole["load"]),
    )


def _sheet(plain: Mapping[str, object]) -> Sheet:
    values = cast("dict[str, list[float]]", plain["values"])
    return Sheet(values, cast("dict[str, str]", plain["notes"]))
