"""Port through which tools report file changes to the checkpoints, before and after.

This module knows no checkpoint store. An implementation neither raises nor asks the user.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from acp_server.checkpoints.files import FileImage, read_file_image
from acp_server.checkpoints.turn_recorder import TouchedFile
from acp_server.tools.files.encoding import encode
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import FileSnapshot


class CheckpointHooks(Protocol):
    """Records files in a checkpoint before and after a turn changes them."""

    def editing(self, touched: Sequence[TouchedFile]) -> AbstractAsyncContextManager[None]:
        """Record the files before an edit, which is then made inside this context."""
        ...

    async def after_edit(self, touched: Sequence[TouchedFile]) -> None:
        """Record the files as an edit has left them."""
        ...

    async def before_command(self) -> None:
        """Record all files of the workspace before the turn's first command."""
        ...


class NoCheckpointHooks:
    """Records nothing."""

    @asynccontextmanager
    async def editing(self, touched: Sequence[TouchedFile]) -> AsyncGenerator[None]:
        """Do nothing."""
        del touched
        yield

    async def after_edit(self, touched: Sequence[TouchedFile]) -> None:
        """Do nothing."""

    async def before_command(self) -> None:
        """Do nothing."""


def written_file(resolved: ResolvedPath, snapshot: FileSnapshot | None) -> TouchedFile:
    """Return a file that is written, as it is before or after the write; links are followed."""
    return TouchedFile(resolved.real, _original(snapshot), is_unsaved(snapshot))


def file_to_remove(resolved: ResolvedPath, base: FileSnapshot | None) -> TouchedFile:
    """Return a file as it is before it is deleted or moved; of a link, the link. It blocks."""
    try:
        found = read_file_image(resolved.entry_path)
    except OSError:
        found = None
    if found is not None and found.kind == "link":
        return TouchedFile(resolved.entry_path, found)
    return TouchedFile(resolved.entry_path, _original(base), is_unsaved(base))


def removed_file(resolved: ResolvedPath) -> TouchedFile:
    """Return a file that was deleted or moved away: its path, with no file there."""
    return TouchedFile(resolved.entry_path, None)


def is_unsaved(snapshot: FileSnapshot | None) -> bool:
    """Whether the text is in the editor only, not on disk."""
    return snapshot is not None and not snapshot.is_saved


def original_of(snapshot: FileSnapshot) -> FileImage:
    """Return a text file as bytes: those on disk, or those it would have once it is saved."""
    return FileImage("file", encode(snapshot.text, snapshot.form), snapshot.mode)


def _original(snapshot: FileSnapshot | None) -> FileImage | None:
    return None if snapshot is None else original_of(snapshot)
