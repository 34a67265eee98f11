"""The memory files as they were when the prompt was written: split, scanned, never changed.

Owns what may be shown of entries, to a prompt and to whoever asks later. Writing, locking and
limits are not its affair.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from prompt_engine.facts import MemoryStore
from prompt_engine.findings import Scan
from prompt_engine.memory_entries import DELIMITER, escaped, joined, split
from prompt_engine.sources.own_files import OwnText, read_own
from prompt_engine.sources.reading import Unread
from prompt_engine.trust import told

MEMORY_LIMIT = 2_200
"""Characters that the agent's notes may take."""
USER_LIMIT = 1_375
"""Characters that the user's profile may take."""

TOLERANCE = 2
"""How many times its limit a file that was written by hand may take of the prompt."""


def read_memory(path: Path, limit_characters: int, scan: Scan) -> MemoryStore:
    """Return a memory file's entries, what must not be shown replaced by a line that says so.

    A file that is missing or cannot be read gives a store without entries that says why.
    """
    empty = MemoryStore((), 0, limit_characters, str(path))
    match read_own(path):
        case None:
            return empty
        case Unread(_, reason):
            return replace(empty, fate="dropped", reason=reason)
        case OwnText(text):
            return snapshot_of(split(text), empty, scan)


def snapshot_of(entries: Sequence[str], empty: MemoryStore, scan: Scan) -> MemoryStore:
    """Fill an empty store with what may be shown of entries, wherever they were read."""
    fitting = _fitting(entries, TOLERANCE * empty.limit_characters)
    shown = [_blocked(entry, scan) or entry for entry in fitting]
    used = len(joined(entries))
    store = replace(empty, entries=tuple(shown), used_characters=used)
    if missing := len(entries) - len(fitting):
        rest = f"[{missing} more entries do not fit; they stay in {Path(empty.source).name}.]"
        reason = f"{len(fitting)} of {len(entries)} entries fit"
        store = replace(store, entries=(*shown, rest), fate="truncated", reason=reason)
    if blocked := sum(text != entry for text, entry in zip(shown, fitting, strict=True)):
        reason = f"{blocked} of {len(entries)} entries must not be shown"
        told_before = f"; {store.reason}" if missing else ""
        store = replace(store, fate="blocked", reason=reason + told_before)
    return store


def _fitting(entries: Sequence[str], max_characters: int) -> list[str]:
    """Return the entries from the first one on that fit whole."""
    fitting: list[str] = []
    for entry in entries:
        max_characters -= len(escaped(entry)) + len(DELIMITER)
        if max_characters < 0:
            break
        fitting.append(entry)
    return fitting


def _blocked(entry: str, scan: Scan) -> str:
    """Return what is shown instead of an entry, empty when nothing was found in it."""
    findings = scan(entry, "strict")
    return f"[Blocked: {told(findings)} of this entry. It stays on disk.]" if findings else ""
