"""The archive port: stores sessions beyond the end of a process.

Independent of the database. Events are stored as entries for replay; messages are stored exactly as
they were sent to the model. Recording never blocks and never fails: if something cannot be stored,
work continues and the user is told once (`SessionArchive.on_problem`).
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from pydantic import JsonValue

from acp_server.session.saved_outputs import SavedOutputs
from acp_server.startup.fast_dataclass import frozen_dataclass
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
from acp_server.turn.usage_totals import UsageTotals


@frozen_dataclass
class SavedSystem:
    """A system prompt as sent, with the state its provider needs to continue from it."""

    text: str
    model_id: str
    written_at: datetime
    state: Mapping[str, JsonValue]


@frozen_dataclass
class SessionFacts:
    """A session's metadata. Times are timezone-aware."""

    id: str
    cwd: Path
    created_at: datetime
    updated_at: datetime
    additional_directories: tuple[Path, ...] = ()
    title: str = ""
    mode: str = "ask"
    model_id: str | None = None
    """The model that the user selected; None for the default."""
    thought_level: str | None = None
    network: str | None = None
    """The network of commands that the user selected; None for that of the settings."""
    ports: str | None = None
    """The same for their ports."""
    fast_mode: str | None = None
    """The same for fast mode: `on` or `off`."""
    usage: UsageTotals = field(default_factory=UsageTotals)
    system: SavedSystem | None = None


@frozen_dataclass
class TerminalRecord:
    """The output of one of our commands, for clients that render terminals."""

    terminal_id: str
    cwd: str
    data: str
    """The output; of a long one only its end."""
    exit_code: int | None = None
    signal: str | None = None


@frozen_dataclass
class CallRecord:
    """The final state of a tool call, with all its updates merged."""

    appeared: CallAppeared
    state: CallChanged
    terminal: TerminalRecord | None = None


@frozen_dataclass
class TaskMessage:
    """A message sent to or received from a sub-agent; stored, but not part of the shown events."""

    call_id: str
    """The delegating tool call."""
    number: int
    """The 1-based number of the task."""
    message: Message


@frozen_dataclass
class SeenFile:
    """What the model has seen of a file; stored, but not part of the shown events.

    A later record of the same path replaces an earlier one. Without a digest, the file counts as
    unread.
    """

    path: str
    digest: str = ""
    line_digests: str = ""
    """The digests of the lines, one after the other, in Base64."""
    unseen: tuple[tuple[int, int], ...] = ()
    """The ranges of lines that the model has not seen: first and last line, from 1."""
    reported: str = ""
    """Digest of the content whose difference the model was told of."""


@frozen_dataclass
class RemovedMessages:
    """Messages that a rewind of the conversation removed; stored, but not part of the shown events.

    A later record of the same checkpoint replaces an earlier one.
    """

    checkpoint: str
    """The checkpoint of the undo or restore: going back to it brings the messages back."""
    messages: tuple[Message, ...] = ()
    """None once they are back."""
    target: str = ""
    """The checkpoint that the conversation went back to; empty if the messages come back."""


UnshownRecord = TaskMessage | SeenFile | RemovedMessages

Entry = (
    PromptReceived
    | MessageChunk
    | ThoughtChunk
    | CallRecord
    | PlanChanged
    | NoticeRaised
    | SummaryChunk
    | CompactionChanged
    | UnshownRecord
)
"""A complete visible item: the chunks of a message are merged, a compaction has ended."""


@frozen_dataclass
class StoredSession:
    """Everything stored about a session."""

    facts: SessionFacts
    messages: tuple[Message, ...]
    entries: tuple[Entry, ...]
    unfinished: tuple[Entry, ...] = ()
    """Entries after the last message, if the process ended in the middle of a turn."""
    is_turn_open: bool = False
    """Whether the process ended in the middle of a turn."""


@frozen_dataclass
class SessionState:
    """The state to continue a stored session from; its shown history stays in the archive."""

    facts: SessionFacts
    messages: Sequence[Message]
    """The conversation since its last summary; perhaps encoded until it is needed."""
    is_turn_open: bool = False
    """Whether the process ended in the middle of a turn."""
    partial_reply: str = ""
    """The text shown after the last message, if the process ended in the middle of a turn."""
    seen_files: Sequence[SeenFile] = ()
    checkpoints: Sequence[str] = ()
    """The checkpoints of prompts and of rewinds."""
    removed_messages: Mapping[str, tuple[Message, ...]] = field(
        default_factory=dict[str, tuple[Message, ...]]
    )
    """Messages that rewinds removed and have not brought back, by checkpoint."""
    last_entry: int = -1
    """The number of the newest entry."""


@frozen_dataclass
class HistoryPage:
    """The next entries of a session's history, without those that a rewind removed."""

    entries: Sequence[Entry]
    task_messages: Mapping[str, Sequence[TaskMessage]] = field(
        default_factory=dict[str, Sequence[TaskMessage]]
    )
    """The messages of sub-agents that first appear on this page, by the delegating call. All
    messages of a call are given at once, those that show nothing without their parts."""
    cut_summaries: frozenset[str] = frozenset()
    """The ids of compactions whose summaries are on this page and that never ended."""


@frozen_dataclass
class ForkedSession:
    """A copy of a session under its own id: its journal, and the state to continue from."""

    journal: "Journal"
    state: SessionState


@frozen_dataclass
class SessionPage:
    """A page of stored sessions, newest first; `cursor` requests the next page."""

    sessions: tuple[SessionFacts, ...]
    cursor: str | None = None


class Journal(Protocol):
    """Stores one session. Records made within a tenth of a second are written together."""

    def show(self, event: Event | PromptReceived | UnshownRecord) -> None:
        """Store a shown event; transient call states and context measurements are skipped."""
        ...

    def append(self, message: Message) -> None:
        """Store a new last message."""
        ...

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Replace all messages with these."""
        ...

    def begin_turn(self) -> None:
        """Record that a turn is running."""
        ...

    def end_turn(self) -> None:
        """Record that no turn is running."""
        ...

    def update(self, facts: SessionFacts) -> None:
        """Store the current facts."""
        ...

    async def commit(self) -> None:
        """Return once everything recorded so far survives the end of this process."""
        ...

    def sync(self) -> None:
        """Soon flush everything recorded to disk and make it searchable."""
        ...

    async def close(self) -> None:
        """Write the remaining records and release the session to other processes."""
        ...


class SessionArchive(Protocol):
    """Stores all sessions of a home directory."""

    on_problem: Callable[[str], None]
    """Called when sessions can no longer be stored properly, with the reason and the remedy;
    once per problem."""
    on_incomplete: Callable[[str], None] | None
    """Called with the id of an open session whose stored messages are lost: its journal must be
    given its facts and all messages again."""

    @property
    def problem(self) -> str | None:
        """Message to the user while sessions cannot be saved; None while they can be."""
        ...

    def create(self, facts: SessionFacts) -> Journal:
        """Start storing a session. Does not wait: it is written in the background."""
        ...

    async def read(self, session_id: str) -> StoredSession:
        """Return a stored session, including everything this process has recorded so far.

        Raises:
            UnknownSessionError: there is no such session.
            ArchiveError: it cannot be read; the text says why and how to fix it.
        """
        ...

    async def read_state(self, session_id: str) -> SessionState:
        """Return the state to continue a session from, without its shown history.

        Raises:
            UnknownSessionError: there is no such session.
            ArchiveError: as above.
        """
        ...

    def history(self, session_id: str, last_entry: int | None = None) -> AsyncIterator[HistoryPage]:
        """Yield the shown history in order, a bounded part at a time.

        It ends with the entry `last_entry`, by default with the newest one.

        Raises:
            ArchiveError: as above.
        """
        ...

    async def fork(
        self, session_id: str, change_facts: Callable[[SessionFacts], SessionFacts]
    ) -> ForkedSession:
        """Copy a session: history, conversation and seen files, but no messages of sub-agents.

        `change_facts` returns the facts of the copy, with an id of its own. Open calls are copied
        as failed ones, and removed messages are left out.

        Raises:
            UnknownSessionError: there is no such session.
            ArchiveError: as above.
        """
        ...

    async def resume(self, session_id: str) -> Journal:
        """Continue storing a session, exclusively for this process; mark open calls as failed.

        Raises:
            UnknownSessionError: there is no such session.
            SessionInUseError: another running process has it open.
            ArchiveError: as above.
        """
        ...

    async def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return stored sessions without their system prompts, most recently used first.

        Sessions without a prompt are not listed.

        Raises:
            InvalidCursorError: no page returned this cursor.
            ArchiveError: as above.
        """
        ...

    async def delete(self, session_id: str) -> None:
        """Delete a session, also from the search index; does nothing if it does not exist.

        A session that is open, here or elsewhere, is no longer stored.

        Raises:
            ArchiveError: as above.
        """
        ...

    def outputs(self, session_id: str) -> SavedOutputs:
        """Return the files that keep a session's long outputs; they are deleted with it."""
        ...

    async def close(self) -> None:
        """Write the remaining records and stop."""
        ...
