"""Shows which files a command changed: diffs of a few texts, and the names of the others."""

import os
from collections.abc import Sequence
from pathlib import Path

from acp_server.checkpoints.errors import CheckpointError
from acp_server.checkpoints.records import RecordedChange
from acp_server.tools.edit.diffs import exact_diff
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.files.errors import FileError
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallContent, FileDiff

MAX_DIFFS = 10
MAX_READ_FILES = 30
"""How many changed files are looked at for a diff."""
MAX_FILE_BYTES = 64 * 1024
MAX_TOTAL_CHARACTERS = 128 * 1024
MAX_NAMES = 20
CHANGED = "Changed while it ran, without a diff: {names}."


async def command_diffs(
    services: EditServices, changes: Sequence[RecordedChange]
) -> tuple[CallContent, ...]:
    """Return diffs of changed text files that may be shown, and a line that names the rest.

    Files that existed come first: the user knows them.
    """
    ordered = sorted(changes, key=lambda each: (each.before is None, each.path))
    diffs: list[FileDiff] = []
    named: list[str] = []
    total = 0
    for index, change in enumerate(ordered):
        found: tuple[FileDiff, ...] = ()
        if index < MAX_READ_FILES and len(diffs) < MAX_DIFFS:
            found = await _diff_of(services, change)
        size = sum(len(each.old_text or "") + len(each.new_text) for each in found)
        if found and total + size <= MAX_TOTAL_CHARACTERS:
            diffs += found
            total += size
        else:
            named.append(services.display_path(Path(change.path)))
    if not named:
        return tuple(diffs)
    more = len(named) - MAX_NAMES
    names = ", ".join(named[:MAX_NAMES]) + (f" and {more:,} more" if more > 0 else "")
    return (*diffs, Text(CHANGED.format(names=names)))


async def _diff_of(services: EditServices, change: RecordedChange) -> tuple[FileDiff, ...]:
    """Return the diff of a change; none if a side is no text, too long, or protected."""
    if any(side is not None and side.kind != "file" for side in (change.before, change.after)):
        return ()
    try:
        if change.after is not None and os.lstat(change.path).st_size > MAX_FILE_BYTES:
            return ()
        # Security: a command may change a file whose content is to be shown to no one.
        if not await services.can_preview(await services.files.resolve(change.path)):
            return ()
        old, new = map(_as_text, await services.checkpoints.read_versions(change))
    except (CheckpointError, FileError, OSError, UnicodeDecodeError):
        return ()
    return () if new is None and old is None else exact_diff(change.path, old, new or "")


def _as_text(data: bytes | None) -> str | None:
    """Return a content as text.

    Raises:
        UnicodeDecodeError: it is no text, or too long to be shown.
    """
    if data is None:
        return None
    if b"\0" in data or len(data) > MAX_FILE_BYTES:
        raise UnicodeDecodeError("utf-8", b"", 0, 0, "not shown")
    return data.decode()
