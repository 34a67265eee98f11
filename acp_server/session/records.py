"""What is kept of a session when its process ends, and who keeps it: the port.

Knows no database. What was shown is kept as entries, for replay; what the model was sent is kept
as messages, exactly. Recording never waits and never fails: where something cannot be kept, work
goes on and the user is told once (`Archive.on_problem`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.turn.conversation import Message
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    Event,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SummaryChunk,
    ThoughtChunk,
)
from acp_server.turn.loop import Spent


@frozen
class SavedSystem:
    """A system prompt as it was sent, and what its writer needs to go on from it."""

    text: str
    model_id: str
    written_at: datetime
    state: Mapping[str, JsonValue]


@frozen
class SessionFacts:
    """What is known of a session beside what was said. Times have a zone."""

    id: str
    cwd: Path
    created_at: datetime
    updated_at: datetime
    additional: tuple[Path, ...] = ()
    title: str = ""
    mode: str = "ask"
    model_id: str | None = None
    """The model that the user chose; None for whatever is the default."""
    thought_level: str | None = None
    spent: Spent = field(default_factory=Spent)
    system: SavedSystem | None = None


@frozen
class TerminalRecord:
    """What a command of ours printed, for clients that show terminals."""

    terminal_id: str
    cwd: str
    data: str
    """The end of its output, if that was long."""
    exit_code: int | None = None
    signal: str | None = None


@frozen
class CallRecord:
    """A tool call as it was last shown: its changes merged into one."""

    appeared: CallAppeared
    state: CallChanged
    terminal: TerminalRecord | None = None


@frozen
class TaskMessage:
    """What a sub-agent was sent or has answered; kept, and no part of what was shown."""

    call_id: str
    """The call that delegated."""
    number: int
    """The task's, from 1."""
    message: Message


Entry = (
    PromptReceived
    | MessageChunk
    | ThoughtChunk
    | CallRecord
    | PlanChanged
    | NoticeRaised
    | SummaryChunk
    | CompactionChanged
    | TaskMessage
)
"""Something that was shown, whole: the chunks of one message are one, a compaction has ended."""


@frozen
class StoredSession:
    """All that is kept of a session."""

    facts: SessionFacts
    messages: tuple[Message, ...]
    entries: tuple[Entry, ...]
    unfinished: tuple[Entry, ...] = ()
    """Those behind the last message, if the process ended in the middle of a turn."""
    is_turn_open: bool = False
    """Whether the process ended in the middle of a turn."""


@frozen
class Page:
    """Some of the kept sessions, the newest first; `cursor` leads to the next ones."""

    sessions: tuple[SessionFacts, ...]
    cursor: str | None = None


class Journal(Protocol):
    """Keeps one session. What is recorded within a tenth of a second is written together."""

    def show(self, event: Event | PromptReceived | TaskMessage) -> None:
        """Keep an event that is shown; passing states of a call and measurements are left out."""
        ...

    def append(self, message: Message) -> None:
        """Keep a message behind all others."""
        ...

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Keep these messages in the place of all."""
        ...

    def begin_turn(self) -> None:
        """Note that a turn runs."""
        ...

    def end_turn(self) -> None:
        """Note that no turn runs any more."""
        ...

    def update(self, facts: SessionFacts) -> None:
        """Keep what the facts are now."""
        ...

    async def commit(self) -> None:
        """Return when all that was recorded so far survives the end of this process."""
        ...

    def sync(self) -> None:
        """Have all that was recorded written through to the disk, and found by searches, soon."""
        ...

    async def close(self) -> None:
        """Write what is left, and let other processes have the session."""
        ...


class Archive(Protocol):
    """Keeps all sessions of a home."""

    on_problem: Callable[[str], None]
    """Told why nothing is kept from now on, or not as it should be, and what to do about it; once
    for as long as it is so."""

    def create(self, facts: SessionFacts) -> Journal:
        """Begin to keep a session. Nothing waits: it is written in the background."""
        ...

    async def read(self, session_id: str) -> StoredSession:
        """Return what is kept of a session, with all that this process has recorded so far.

        Raises:
            UnknownSessionError: there is none of this id.
            ArchiveError: it cannot be read; the text says why and what to do.
        """
        ...

    async def resume(self, session_id: str) -> Journal:
        """Go on keeping a session, for this process alone. Calls that were open are failed.

        Raises:
            UnknownSessionError: there is none of this id.
            SessionInUseError: another process, which is alive, has it.
            ArchiveError: as above.
        """
        ...

    async def page(self, cwd: Path | None, cursor: str | None) -> Page:
        """Return kept sessions, the one that was last used first, without their system prompts.

        Those in which nothing was said are among them only while a process has them open.

        Raises:
            InvalidCursorError: the cursor is none that was given out.
            ArchiveError: as above.
        """
        ...

    async def delete(self, session_id: str) -> None:
        """Forget a session, searches included; nothing happens when there is none.

        One that is open, here or elsewhere, is not kept any more.

        Raises:
            ArchiveError: as above.
        """
        ...

    async def close(self) -> None:
        """Write what is left and end."""
        ...
