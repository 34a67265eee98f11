"""An archive that stores nothing, for servers that must leave no trace."""

import shutil
from collections.abc import AsyncGenerator, Callable, Sequence
from functools import partial
from pathlib import Path
from secrets import token_hex
from tempfile import gettempdir

from anyio import to_thread

from acp_server.session.errors import UnknownSessionError
from acp_server.session.ports.archive import (
    ForkedSession,
    HistoryPage,
    Journal,
    SessionFacts,
    SessionPage,
    SessionState,
    StoredSession,
    UnshownRecord,
)
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived


class NullJournal:
    """A journal that stores nothing."""

    def show(self, event: Event | PromptReceived | UnshownRecord) -> None:
        """Discard the event."""

    def append(self, message: Message) -> None:
        """Discard the message."""

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Discard the messages."""

    def begin_turn(self) -> None:
        """Do nothing."""

    def end_turn(self) -> None:
        """Do nothing."""

    def update(self, facts: SessionFacts) -> None:
        """Discard the facts."""

    async def commit(self) -> None:
        """Return immediately."""

    def sync(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


def _ignore_problem(reason: str) -> None:
    del reason


class NullArchive:
    """An archive without sessions."""

    def __init__(self) -> None:
        self.on_problem: Callable[[str], None] = _ignore_problem
        self.on_incomplete: Callable[[str], None] | None = None
        self.problem: str | None = None
        # Unpredictable, so that nobody can be there first; created by the first output.
        self._outputs = Path(gettempdir(), f"acp-server-{token_hex(16)}")

    def create(self, facts: SessionFacts) -> Journal:
        """Return a journal that stores nothing."""
        del facts
        return NullJournal()

    async def read(self, session_id: str) -> StoredSession:
        """Raise UnknownSessionError."""
        raise UnknownSessionError(session_id)

    async def read_state(self, session_id: str) -> SessionState:
        """Raise UnknownSessionError."""
        raise UnknownSessionError(session_id)

    async def history(
        self, session_id: str, last_entry: int | None = None
    ) -> AsyncGenerator[HistoryPage]:
        """Yield nothing."""
        del session_id, last_entry
        for page in tuple[HistoryPage, ...]():
            yield page

    async def fork(
        self, session_id: str, change_facts: Callable[[SessionFacts], SessionFacts]
    ) -> ForkedSession:
        """Raise UnknownSessionError."""
        del change_facts
        raise UnknownSessionError(session_id)

    async def resume(self, session_id: str) -> Journal:
        """Raise UnknownSessionError."""
        raise UnknownSessionError(session_id)

    async def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return an empty page."""
        del cwd, cursor
        return SessionPage(())

    async def delete(self, session_id: str) -> None:
        """Do nothing: no session is stored."""

    def outputs(self, session_id: str) -> SavedOutputs:
        """Return files in a temporary directory, which is deleted when the archive is closed."""
        return SavedOutputs(self._outputs, session_id)

    async def close(self) -> None:
        """Delete the outputs."""
        if self._outputs.exists():
            await to_thread.run_sync(partial(shutil.rmtree, self._outputs, ignore_errors=True))
