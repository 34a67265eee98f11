"""What tools tell before they change files, so that it can be undone; and how edits tell it.

Knows no store: whoever keeps neither fails nor asks.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Protocol

from acp_server.checkpoints.disk import Original, original_at
from acp_server.checkpoints.turns import Touched
from acp_server.tools.files.encoding import encode
from acp_server.tools.files.paths import Place
from acp_server.tools.files.snapshot import Snapshot


class Keeping(Protocol):
    """Keeps what files were before a turn changed them."""

    def editing(self, touched: Sequence[Touched]) -> AbstractAsyncContextManager[None]:
        """Keep what an edit starts from, before it is done inside."""
        ...

    async def after_edit(self, touched: Sequence[Touched]) -> None:
        """Keep what an edit has made."""
        ...

    async def before_command(self) -> None:
        """Keep all files of the workspace, before the turn's first command."""
        ...


class NoKeeping:
    """Keeps nothing."""

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
    """Return a file that is written, where its links lead, as it is before or after that."""
    return Touched(place.real, _original(snapshot), is_unsaved(snapshot))


def taken_away(place: Place, base: Snapshot | None) -> Touched:
    """Return a file that is deleted or moved, as it is before; of a link, the link. It blocks."""
    try:
        found = original_at(place.own)
    except OSError:
        found = None
    if found is not None and found.kind == "link":
        return Touched(place.own, found)
    return Touched(place.own, _original(base), is_unsaved(base))


def gone_from(place: Place) -> Touched:
    """Return a file that was deleted or moved, as it is since."""
    return Touched(place.own, None)


def is_unsaved(snapshot: Snapshot | None) -> bool:
    """Whether a text is in the editor only."""
    return snapshot is not None and not snapshot.is_saved


def original_of(snapshot: Snapshot) -> Original:
    """Return a text file with the bytes that it has, or would have once it is saved."""
    return Original("file", encode(snapshot.text, snapshot.form), snapshot.mode)


def _original(snapshot: Snapshot | None) -> Original | None:
    return None if snapshot is None else original_of(snapshot)
