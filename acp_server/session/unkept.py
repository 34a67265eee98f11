"""An archive that keeps nothing, for servers that are to leave no trace."""

from collections.abc import Callable, Sequence
from pathlib import Path

from acp_server.session.errors import UnknownSessionError
from acp_server.session.records import Journal, Page, SessionFacts, StoredSession, TaskMessage
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived


class UnkeptJournal:
    """Keeps nothing of a session."""

    def show(self, event: Event | PromptReceived | TaskMessage) -> None:
        """Drop it."""

    def append(self, message: Message) -> None:
        """Drop it."""

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Drop them."""

    def begin_turn(self) -> None:
        """Do nothing."""

    def end_turn(self) -> None:
        """Do nothing."""

    def update(self, facts: SessionFacts) -> None:
        """Drop them."""

    async def commit(self) -> None:
        """There is nothing to wait for."""

    def sync(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


def _nobody(reason: str) -> None:
    del reason


class UnkeptArchive:
    """Keeps no session."""

    def __init__(self) -> None:
        self.on_problem: Callable[[str], None] = _nobody

    def create(self, facts: SessionFacts) -> Journal:
        """Begin to keep nothing."""
        del facts
        return UnkeptJournal()

    async def read(self, session_id: str) -> StoredSession:
        """Say that there is none."""
        raise UnknownSessionError(session_id)

    async def resume(self, session_id: str) -> Journal:
        """Say that there is none."""
        raise UnknownSessionError(session_id)

    async def page(self, cwd: Path | None, cursor: str | None) -> Page:
        """Return nothing."""
        del cwd, cursor
        return Page(())

    async def delete(self, session_id: str) -> None:
        """Do nothing: there is none."""

    async def close(self) -> None:
        """Do nothing."""
