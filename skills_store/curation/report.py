"""The report of a curator's pass: Markdown for a person, YAML for programs.

What happened counts; what the curator says about it gives the reasons, and where the two differ the
report says so.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from skills_store.atomic import write_atomically
from skills_store.changes import Change, Moved
from skills_store.curation.block import Block
from skills_store.curation.outcome import Archival, archivals
from skills_store.usage import written_time

_PRIVATE = 0o600
NO_REASON = "No reason was given."


@dataclass(frozen=True, slots=True)
class Report:
    """What a pass did."""

    began_at: datetime
    made: tuple[Change, ...]
    block: Block = field(default_factory=Block)
    """What the curator says it did."""
    faults: tuple[str, ...] = ()
    """Where that differs from what happened, or why the pass ended early."""
    snapshot_id: str = ""
    """What `--undo` goes back to; empty for a plan that nothing was done of."""

    @property
    def summary(self) -> str:
        """The pass in one line."""
        gone = archivals(self.made)
        merged = [each for each in gone if each.into]
        into = len({each.into for each in merged})
        parts = [
            f"{_counted(len(merged), 'skill')} merged into {into}" if merged else "",
            f"{_counted(len(gone) - len(merged), 'skill')} put away" if gone[len(merged) :] else "",
        ]
        changed = sorted({each.name for each in self.made if not isinstance(each.effect, Moved)})
        parts.append(f"changed: {', '.join(changed)}" if changed else "")
        return "; ".join(filter(None, parts)) or "nothing to do"


def report_text(report: Report) -> str:
    """Return a report for a person, in Markdown."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def report_yaml(report: Report) -> str:
    """Return what was archived, as the curator's block: each skill exactly once."""
    gone = archivals(report.made)
    merged, pruned = [each for each in gone if each.into], [each for each in gone if not each.into]
    lines = [f"began_at: {_quoted(written_time(report.began_at))}"]
    lines.append(f"snapshot: {_quoted(report.snapshot_id)}")
    lines.append("consolidations:" if merged else "consolidations: []")
    for each in merged:
        lines += [f"  - from: {_quoted(each.name)}", f"    into: {_quoted(each.into)}"]
        lines.append(f"    reason: {_quoted(_reason(report.block, each))}")
    lines.append("prunings:" if pruned else "prunings: []")
    for each in pruned:
        lines.append(f"  - name: {_quoted(each.name)}")
        lines.append(f"    reason: {_quoted(_reason(report.block, each))}")
    return "\n".join(lines) + "\n"


def write_report(folder: Path, report: Report) -> None:
    """Write both into a folder, which is made.

    Raises:
        OSError: it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in (("report.md", report_text(report)), ("report.yaml", report_yaml(report))):
        write_atomically(folder / name, text.encode(), mode=_PRIVATE)


def _lines(report: Report) -> Iterator[str]:
    yield f"# Skills put in order, {report.began_at:%Y-%m-%d %H:%M} UTC"
    yield ""
    yield f"{report.summary[:1].upper()}{report.summary[1:]}."
    yield ""
    gone = archivals(report.made)
    for into in dict.fromkeys(each.into for each in gone if each.into):
        yield from _section(f"Merged into `{into}`", report, [e for e in gone if e.into == into])
    pruned = [each for each in gone if not each.into]
    if pruned:
        yield from _section("Put away", report, pruned)
    changes = [each.message for each in report.made if not isinstance(each.effect, Moved)]
    if changes:
        yield from ("## Changes", "", *(f"- {message}" for message in changes), "")
    if report.faults:
        yield from ("## To be looked at", "", *(f"- {fault}" for fault in report.faults), "")
    if report.snapshot_id:
        yield f"`acp-server skills curate --undo` restores all skills as in {report.snapshot_id}."


def _section(title: str, report: Report, gone: list[Archival]) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    for each in gone:
        yield f"- `{each.name}`: {_reason(report.block, each)}"
    yield ""


def _reason(block: Block, archival: Archival) -> str:
    said = {each.source.rsplit("/", 1)[-1]: each.reason for each in block.consolidations}
    said |= {each.name.rsplit("/", 1)[-1]: each.reason for each in block.prunings}
    return " ".join(said.get(archival.name, NO_REASON).split())


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _quoted(text: str) -> str:
    """Return a text as YAML reads it on one line: JSON's strings are YAML's too."""
    return json.dumps(text, ensure_ascii=False)
