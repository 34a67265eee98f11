"""Report of a curator run: Markdown for people, YAML for programs.

The recorded changes are authoritative. The curator's summary only adds reasons, and differences
between the two are reported.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from skills_store.atomic import write_atomically
from skills_store.changes import Change, Moved
from skills_store.curation.outcome import Archival, archivals
from skills_store.curation.summary import Block
from skills_store.usage import written_time

_PRIVATE = 0o600
NO_REASON = "No reason was given."


@dataclass(frozen=True, slots=True)
class Report:
    """Result of a curator run."""

    began_at: datetime
    made: tuple[Change, ...]
    block: Block = field(default_factory=Block)
    """The curator's own summary."""
    faults: tuple[str, ...] = ()
    """Differences between summary and changes, or why the run ended early."""
    snapshot_id: str = ""
    """Backup that `--undo` restores; empty for a dry run."""

    @property
    def summary(self) -> str:
        """The run in one line."""
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
    """Render a report as Markdown."""
    return "\n".join(_lines(report)).rstrip() + "\n"


def report_yaml(report: Report) -> str:
    """Render the archived skills in the format of the curator's summary, each exactly once."""
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
    """Write both formats into a directory, which is created.

    Raises:
        OSError: The file cannot be written.
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
    """Quote a text for YAML on one line: JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)
