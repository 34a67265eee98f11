"""What waits for the writer: records, and questions that it answers in their order.

Filled by the event loop, emptied by the writer's thread. To put something in costs next to nothing:
no lock is taken while the writer is awake. Knows no database, so that recording can begin before
there is one.
"""

from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Event as ThreadEvent
from typing import Protocol

from acp_server.frozen import frozen
from acp_server.session.records import Page, SessionFacts, StoredSession, TaskMessage
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

COALESCE_SECONDS = 0.1
"""How long records are collected before they are written."""


@frozen
class Created:
    """A session begins."""

    facts: SessionFacts


@frozen
class Rebuilt:
    """These messages stand in the place of all."""

    messages: tuple[Message, ...]


@frozen
class TurnBegun:
    """A turn runs."""


@frozen
class TurnEnded:
    """No turn runs any more."""


@frozen
class SyncWanted:
    """All that was recorded is to reach the disk."""


Shown = Event | PromptReceived | TaskMessage
Recorded = Shown | Message | SessionFacts | Created | Rebuilt | TurnBegun | TurnEnded | SyncWanted


class Desk(Protocol):
    """What the writer does when it is asked; all of it in its own thread."""

    def read(self, session_id: str) -> StoredSession:
        """Return what is kept of a session."""
        ...

    def resume(self, session_id: str) -> None:
        """Take a session that is kept."""
        ...

    def page(self, cwd: Path | None, cursor: str | None) -> Page:
        """Return kept sessions."""
        ...

    def delete(self, session_id: str) -> None:
        """Forget a session."""
        ...

    def release(self, session_id: str) -> None:
        """Let others have a session."""
        ...

    def leave(self) -> None:
        """Let others have all sessions, and end."""
        ...


class Question(Protocol):
    """Something that the writer does and somebody waits for."""

    def answer(self, desk: Desk) -> None:
        """Do it; called once all that was recorded before is written."""
        ...

    def wake(self) -> None:
        """Wake who waits for it, in the event loop."""
        ...

    def hop(self, action: Callable[[], None], /) -> None:
        """Have something done in the event loop."""
        ...

    def give_up(self) -> None:
        """Wake who waits: nobody answers any more."""
        ...


Item = tuple[str, Recorded] | Question


class Inbox:
    """Records and questions, in the order in which they came."""

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        self._is_filled = ThreadEvent()
        self._is_urgent = ThreadEvent()
        self.is_shut = False
        """Whether nobody writes any more."""

    def __len__(self) -> int:
        return len(self._items)

    def record(self, session_id: str, recorded: Recorded) -> None:
        """Put a record in; nothing happens when nobody writes any more."""
        if self.is_shut:
            return
        self._items.append((session_id, recorded))
        if not self._is_filled.is_set():
            self._is_filled.set()

    def ask(self, question: Question) -> None:
        """Put a question in; what stands before it is written at once.

        Whoever asks looks afterwards whether the inbox is shut: then there may be no answer.
        """
        self._items.append(question)
        self._is_urgent.set()
        self._is_filled.set()

    def wait(self, most_seconds: float | None) -> list[Item]:
        """Return what is there, once it has been collected for a moment; nothing after a while.

        For the writer's thread.
        """
        if self._is_filled.wait(most_seconds):
            self._is_urgent.wait(COALESCE_SECONDS)
        # What comes after these two lines sets them again, and is found now or the next time.
        self._is_filled.clear()
        self._is_urgent.clear()
        return self._taken()

    def shut(self) -> None:
        """Take no records any more, and give up the questions that are there."""
        self.is_shut = True
        for item in self._taken():
            if not isinstance(item, tuple):
                item.give_up()

    def _taken(self) -> list[Item]:
        return [self._items.popleft() for _ in range(len(self._items))]
