"""Port through which tools report file changes to the checkpoints, before and after.

This module knows no checkpoint store. An implementation neither raises nor asks the user.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from acp_server.checkpoints.files import Original, original_at
from acp_server.checkpoints.turn_recorder import Touched
from acp_server.tools.files.encoding import encode
from acp_server.tools.files.paths import Place
from acp_server.tools.files.snapshot import Snapshot


class Keeping(Protocol):
    """Records files in a checkpoint before and after a turn changes them."""

    def editing(self, touched: Sequence[Touched]) -> AbstractAsyncContextManager[None]:
        """Record the files before an edit, which is then made inside this context."""
        ...

    async def after_edit(self, touched: Sequence[Touched]) -> None:
        """Record the files as an edit has left them."""
        ...

    async def before_command(self) -> None:
        """Record all files of the workspace before the turn's first command."""
        ...


class NoKeeping:
    """Records nothing."""

    @asynccontextmanager
    async def editing(self, touched: Sequence[Touched]) -> AsyncGenerator[None]:
        """Do nothing."""
        del touched
        yield

    async def after_edit(self, touched: Sequence[Touched]) -> None:
        """Do nothing."""

    async def before_command(self) -> None:
        """Do nothing."""


def written_to(place: Place, snapshot: Snapshot | None) -> Touched:
    """Return a file that is written, as it is before or after the write; links are followed."""
    return Touched(place.real, _original(snapshot), is_unsaved(snapshot))


def taken_away(place: Place, base: Snapshot | None) -> Touched:
    """Return a file as it is before it is deleted or moved; of a link, the link. It blocks."""
    try:
        found = original_at(place.own)
    except OSError:
        found = None
    if found is not None and found.kind == "link":
        return Touched(place.own, found)
    return Touched(place.own, _original(base), is_unsaved(base))


def gone_from(place: Place) -> Touched:
    """Return a file that was deleted or moved away: its path, with no file there."""
    return Touched(place.own, None)


def is_unsaved(snapshot: Snapshot | None) -> bool:
    """Whether the text is in the editor only, not on disk."""
    return snapshot is not None and not snapshot.is_saved


def original_of(snapshot: Snapshot) -> Original:
    """Return a text file as bytes: those on disk, or those it would have once it is saved."""
    return Original("file", encode(snapshot.text, snapshot.form), snapshot.mode)


def _original(snapshot: Snapshot | None) -> Original | None:
    return None if snapshot is None else original_of(snapshot)
