"""The queue to the writer thread: records, and queries it answers in order.

Filled by the event loop, emptied by the writer's thread. Adding a record is almost free: no lock is
taken while the writer is awake. Independent of the database, so that recording can start before it
is open.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Event as ThreadEvent
from typing import TYPE_CHECKING, Protocol

import anyio

from acp_server.session.errors import ArchiveError, SessionError
from acp_server.session.ports.archive import (
    HistoryPage,
    SessionFacts,
    SessionPage,
    SessionState,
    StoredSession,
    UnshownRecord,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

if TYPE_CHECKING:
    from acp_server.history.history_pages import HistoryPages

NO_WRITER = "sessions are no longer saved: the writer thread has ended; restart the server"
COALESCE_SECONDS = 0.1
"""How long records are collected before they are written together."""


@frozen_dataclass
class SessionCreated:
    """A session starts."""

    facts: SessionFacts


@frozen_dataclass
class MessagesReplaced:
    """These messages replace all earlier ones."""

    messages: tuple[Message, ...]


@frozen_dataclass
class TurnStarted:
    """A turn starts."""


@frozen_dataclass
class TurnEnded:
    """The turn has ended."""


@frozen_dataclass
class SyncRequested:
    """Everything recorded so far should be synced to the disk."""


ShownEvent = Event | PromptReceived | UnshownRecord
RecordedItem = (
    ShownEvent
    | Message
    | SessionFacts
    | SessionCreated
    | MessagesReplaced
    | TurnStarted
    | TurnEnded
    | SyncRequested
)


class ArchiveQueries(Protocol):
    """The queries the writer answers, all in its own thread."""

    def read(self, session_id: str) -> StoredSession:
        """Return a stored session."""
        ...

    def read_state(self, session_id: str) -> SessionState:
        """Return the state to continue a stored session from."""
        ...

    def history(self, session_id: str, last_entry: int | None) -> "HistoryPages":
        """Return the history of a session, from its first page to its last."""
        ...

    def next_page(self, pages: "HistoryPages") -> HistoryPage | None:
        """Read the next page of a history; None after the last."""
        ...

    def fork(
        self, session_id: str, change_facts: Callable[[SessionFacts], SessionFacts]
    ) -> SessionState:
        """Copy a session, and continue to save the copy; return the copy's state."""
        ...

    def resume(self, session_id: str) -> None:
        """Take over a stored session."""
        ...

    def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return a page of stored sessions."""
        ...

    def stored_ids(self) -> frozenset[str]:
        """Return the ids of all stored sessions."""
        ...

    def delete(self, session_id: str) -> None:
        """Delete a session."""
        ...

    def release(self, session_id: str) -> None:
        """Give up a session, so that other processes can open it."""
        ...

    def shut_down(self) -> None:
        """Give up all sessions and end the writer."""
        ...


class PendingQuery:
    """An action for the writer, and the task that waits until it is done."""

    def __init__(
        self,
        action: Callable[[ArchiveQueries], None],
        call_in_loop: Callable[[Callable[[], None]], None],
    ) -> None:
        """Prepare; `call_in_loop` runs an action in the event loop, from the writer's thread."""
        self._action = action
        self.call_in_loop = call_in_loop
        self._is_answered = anyio.Event()
        self._error: SessionError | None = None

    async def wait(self) -> None:
        """Return once the action is done, or raise its error."""
        await self._is_answered.wait()
        if self._error is not None:
            raise self._error

    def execute(self, writer: ArchiveQueries) -> None:
        """Run the action; everything recorded before it is already written."""
        try:
            self._action(writer)
        except SessionError as error:
            self._error = error

    def wake(self) -> None:
        """Resume the waiting task; runs in the event loop."""
        self._is_answered.set()

    def fail(self) -> None:
        """Fail: the writer has ended."""
        # An answer that is already stored is discarded: the loop has not been told of it.
        self._error = ArchiveError(NO_WRITER)
        self.call_in_loop(self.wake)


QueueItem = tuple[str, RecordedItem] | PendingQuery


class WriterQueue:
    """A queue of records and queries, in order of arrival."""

    def __init__(self) -> None:
        self._items: deque[QueueItem] = deque()
        self._is_filled = ThreadEvent()
        self._is_urgent = ThreadEvent()
        self.is_closed = False
        """Whether the writer has ended."""

    def __len__(self) -> int:
        return len(self._items)

    def record(self, session_id: str, recorded: RecordedItem) -> None:
        """Add a record; ignored once the writer has ended."""
        if self.is_closed:
            return
        self._items.append((session_id, recorded))
        # `set` takes a lock, `is_set` does not: while the writer is awake a streamed chunk costs
        # one append.
        if not self._is_filled.is_set():
            self._is_filled.set()

    def submit(self, query: PendingQuery) -> None:
        """Add a query; everything before it is written at once.

        Afterwards the caller must check `is_closed`: if it is set, there may be no answer.
        """
        self._items.append(query)
        self._is_urgent.set()
        self._is_filled.set()

    def take_batch(self, timeout_seconds: float | None) -> list[QueueItem]:
        """Return the queued items, collected for a moment, or none after `timeout_seconds`.

        For the writer's thread.
        """
        if self._is_filled.wait(timeout_seconds):
            self._is_urgent.wait(COALESCE_SECONDS)
        # Clear before draining: an item added in between sets the events again and is taken now or
        # in the next round. The other way round its wake-up would be lost.
        self._is_filled.clear()
        self._is_urgent.clear()
        return self._drain()

    def close(self) -> None:
        """Accept no more records, and fail the queued queries."""
        # Before draining: a query added later is missed here, but its sender sees the flag.
        self.is_closed = True
        for item in self._drain():
            if not isinstance(item, tuple):
                item.fail()

    def _drain(self) -> list[QueueItem]:
        # A fixed count: the event loop may append faster than this thread takes.
        return [self._items.popleft() for _ in range(len(self._items))]
