"""Memory files as of the time the prompt was built: split and scanned, read-only.

Decides which entries may be shown, for prompts and later queries. Writing, locking and limits are
implemented elsewhere.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prompt_engine.facts import MemorySnapshot
from prompt_engine.findings import ThreatScan
from prompt_engine.memory_entries import DELIMITER, escape_entry, join_entries, split_entries
from prompt_engine.sources.file_reading import ReadFailure
from prompt_engine.sources.user_files import UserFileText, read_user_file
from prompt_engine.trust import describe_findings

OVERSIZE_FACTOR = 2
"""A hand-written file may use this multiple of its limit in the prompt."""


def read_memory(path: Path, limit_characters: int, scan: ThreatScan) -> MemorySnapshot:
    """Return a memory file's entries; blocked entries are replaced by a notice.

    A missing or unreadable file gives a snapshot without entries that states the reason.
    """
    empty = MemorySnapshot((), 0, limit_characters, str(path))
    match read_user_file(path):
        case None:
            return empty
        case ReadFailure(_, reason):
            return replace(empty, fate="dropped", reason=reason)
        case UserFileText(text):
            return build_snapshot(split_entries(text), empty, scan)


def build_snapshot(
    entries: Sequence[str], empty: MemorySnapshot, scan: ThreatScan
) -> MemorySnapshot:
    """Fill an empty snapshot with the displayable entries, from any source."""
    fitting: list[str] = []  # the leading entries that fit completely
    shown: list[str] = []
    remaining = OVERSIZE_FACTOR * empty.limit_characters
    for entry in entries:
        remaining -= len(escape_entry(entry)) + len(DELIMITER)
        if remaining < 0:
            break
        fitting.append(entry)
        findings = describe_findings(scan(entry, "strict"))
        notice = f"[Blocked: {findings} of this entry. It stays on disk.]"
        shown.append(notice if findings else entry)
    used = len(join_entries(entries))
    store = replace(empty, entries=tuple(shown), used_characters=used)
    if missing := len(entries) - len(fitting):
        omitted_line = (
            f"[{missing} more entries do not fit; they stay in {Path(empty.source).name}.]"
        )
        reason = f"{len(fitting)} of {len(entries)} entries fit"
        store = replace(store, entries=(*shown, omitted_line), fate="truncated", reason=reason)
    if blocked := sum(text != entry for text, entry in zip(shown, fitting, strict=True)):
        reason = f"{blocked} of {len(entries)} entries were blocked"
        previous_reason = f"; {store.reason}" if missing else ""
        store = replace(store, fate="blocked", reason=reason + previous_reason)
    return store
