"""The queue to the writer thread: records, and queries it answers in order.

Filled by the event loop, emptied by the writer's thread. Adding a record is almost free: no lock is
taken while the writer is awake. Independent of the database, so that recording can start before it
is open.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Event as ThreadEvent
from typing import Protocol

from acp_server.session.ports.archive import Page, SessionFacts, StoredSession, TaskMessage
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

COALESCE_SECONDS = 0.1
"""How long records are collected before they are written together."""


@frozen
class Created:
    """A session starts."""

    facts: SessionFacts


@frozen
class Rebuilt:
    """These messages replace all earlier ones."""

    messages: tuple[Message, ...]


@frozen
class TurnBegun:
    """A turn starts."""


@frozen
class TurnEnded:
    """The turn has ended."""


@frozen
class SyncWanted:
    """Everything recorded so far should be synced to the disk."""


Shown = Event | PromptReceived | TaskMessage
Recorded = Shown | Message | SessionFacts | Created | Rebuilt | TurnBegun | TurnEnded | SyncWanted


class Desk(Protocol):
    """The queries the writer answers, all in its own thread."""

    def read(self, session_id: str) -> StoredSession:
        """Return a stored session."""
        ...

    def resume(self, session_id: str) -> None:
        """Take over a stored session."""
        ...

    def page(self, cwd: Path | None, cursor: str | None) -> Page:
        """Return a page of stored sessions."""
        ...

    def delete(self, session_id: str) -> None:
        """Delete a session."""
        ...

    def release(self, session_id: str) -> None:
        """Give up a session, so that other processes can open it."""
        ...

    def leave(self) -> None:
        """Give up all sessions and end the writer."""
        ...


class Question(Protocol):
    """An action for the writer whose result a task awaits."""

    def answer(self, desk: Desk) -> None:
        """Run the action; everything recorded before it is already written."""
        ...

    def wake(self) -> None:
        """Wake the waiting task; runs in the event loop."""
        ...

    def hop(self, action: Callable[[], None], /) -> None:
        """Run an action in the event loop."""
        ...

    def give_up(self) -> None:
        """Wake the waiting task with an error: the writer has ended."""
        ...


Item = tuple[str, Recorded] | Question


class Inbox:
    """A queue of records and queries, in order of arrival."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._is_filled = ThreadEvent()
        self._is_urgent = ThreadEvent()
        self.is_shut = False
        """Whether the writer has ended."""

    def __len__(self) -> int:
        return len(self._items)

    def record(self, session_id: str, recorded: Recorded) -> None:
        """Add a record; ignored once the writer has ended."""
        if self.is_shut:
            return
        self._items.append((session_id, recorded))
        # `set` takes a lock, `is_set` does not: while the writer is awake a streamed chunk costs
        # one append.
        if not self._is_filled.is_set():
            self._is_filled.set()

    def ask(self, question: Question) -> None:
        """Add a query; everything before it is written at once.

        Afterwards the caller must check `is_shut`: if it is set, there may be no answer.
        """
        self._items.append(question)
        self._is_urgent.set()
        self._is_filled.set()

    def wait(self, most_seconds: float | None) -> list[Item]:
        """Return the queued items, collected for a moment, or none after `most_seconds`.

        For the writer's thread.
        """
        if self._is_filled.wait(most_seconds):
            self._is_urgent.wait(COALESCE_SECONDS)
        # Clear before draining: an item added in between sets the events again and is taken now or
        # in the next round. The other way round its wake-up would be lost.
        self._is_filled.clear()
        self._is_urgent.clear()
        return self._taken()

    def shut(self) -> None:
        """Accept no more records, and fail the queued queries."""
        # Before draining: a query added later is missed here, but its sender sees the flag.
        self.is_shut = True
        for item in self._taken():
            if not isinstance(item, tuple):
                item.give_up()

    def _taken(self) -> list[Item]:
        # A fixed count: the event loop may append faster than this thread takes.
        return [self._items.popleft() for _ in range(len(self._items))]
