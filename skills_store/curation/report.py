"""Report of a curator run: Markdown for people, YAML for programs.

The recorded changes are authoritative. The curator's summary only adds reasons, and differences
between the two are reported.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from skills_store.atomic import write_atomically
from skills_store.changes import SkillChange, SkillMove
from skills_store.curation.outcome import ArchiveOutcome, archive_outcomes
from skills_store.curation.summary import CuratorSummary
from skills_store.usage import format_time

_PRIVATE_MODE = 0o600
NO_REASON = "No reason was given."


@dataclass(frozen=True, slots=True)
class CurationReport:
    """Result of a curator run."""

    began_at: datetime
    changes: tuple[SkillChange, ...]
    curator_summary: CuratorSummary = field(default_factory=CuratorSummary)
    """The curator's own summary."""
    issues: tuple[str, ...] = ()
    """Differences between summary and changes, or why the run ended early."""
    snapshot_id: str = ""
    """Backup that `--undo` restores; empty for a dry run."""

    @property
    def summary(self) -> str:
        """The run in one line."""
        archived = archive_outcomes(self.changes)
        merged = [each for each in archived if each.into]
        target_count = len({each.into for each in merged})
        parts = [
            f"{_count_text(len(merged), 'skill')} merged into {target_count}" if merged else "",
            f"{_count_text(len(archived) - len(merged), 'skill')} put away"
            if archived[len(merged) :]
            else "",
        ]
        changed = sorted(
            {each.name for each in self.changes if not isinstance(each.effect, SkillMove)}
        )
        parts.append(f"changed: {', '.join(changed)}" if changed else "")
        return "; ".join(filter(None, parts)) or "nothing to do"


def render_report(report: CurationReport) -> str:
    """Render a report as Markdown."""
    archived = archive_outcomes(report.changes)
    sections: dict[str, list[str]] = {}
    # Merged skills come first, by successor.
    successors = dict.fromkeys(each.into for each in archived if each.into)
    for into in (*successors, ""):
        title = f"Merged into `{into}`" if into else "Put away"
        sections[title] = [
            f"`{each.name}`: {_reason(report.curator_summary, each)}"
            for each in archived
            if each.into == into
        ]
    sections["Changes"] = [
        each.message for each in report.changes if not isinstance(each.effect, SkillMove)
    ]
    sections["To be looked at"] = list(report.issues)
    lines = [f"# Skills put in order, {report.began_at:%Y-%m-%d %H:%M} UTC", ""]
    lines += [f"{report.summary[:1].upper()}{report.summary[1:]}.", ""]
    for title, entries in sections.items():
        if entries:
            lines += [f"## {title}", "", *(f"- {entry}" for entry in entries), ""]
    if report.snapshot_id and report.changes:
        lines.append(
            f"`acp-server skills curate --undo` restores all skills as in {report.snapshot_id}."
        )
    return "\n".join(lines).rstrip() + "\n"


def render_report_yaml(report: CurationReport) -> str:
    """Render the archived skills in the format of the curator's summary, each exactly once."""
    archived = archive_outcomes(report.changes)
    merged, pruned = (
        [each for each in archived if each.into],
        [each for each in archived if not each.into],
    )
    lines = [f"began_at: {_quote(format_time(report.began_at))}"]
    lines.append(f"snapshot: {_quote(report.snapshot_id)}")
    lines.append("consolidations:" if merged else "consolidations: []")
    for each in merged:
        lines += [f"  - from: {_quote(each.name)}", f"    into: {_quote(each.into)}"]
        lines.append(f"    reason: {_quote(_reason(report.curator_summary, each))}")
    lines.append("prunings:" if pruned else "prunings: []")
    for each in pruned:
        lines.append(f"  - name: {_quote(each.name)}")
        lines.append(f"    reason: {_quote(_reason(report.curator_summary, each))}")
    return "\n".join(lines) + "\n"


def write_report(folder: Path, report: CurationReport) -> None:
    """Write both formats into a directory, which is created.

    Raises:
        OSError: The file cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name, text in (
        ("report.md", render_report(report)),
        ("report.yaml", render_report_yaml(report)),
    ):
        write_atomically(folder / name, text.encode(), mode=_PRIVATE_MODE)


def _reason(block: CuratorSummary, archival: ArchiveOutcome) -> str:
    reasons = {each.source.rsplit("/", 1)[-1]: each.reason for each in block.consolidations}
    reasons |= {each.name.rsplit("/", 1)[-1]: each.reason for each in block.prunings}
    return " ".join(reasons.get(archival.name, NO_REASON).split())


def _count_text(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _quote(text: str) -> str:
    """Quote a text for YAML on one line: JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)
