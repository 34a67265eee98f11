"""One session being saved: turns its records into database writes.

Holds the state the next rows depend on: numbers, calls that still change, and the messages, by
reference. Writes are collected (`record`, then `pending_writes`) and executed by the archive
writer, all or none; until `mark_written` reports success, they count as not written.

If writes fail, the session has a gap (`suspend`): from then on only the messages are recorded.
Once there is a database again (`recover`), the missing messages are written, so the conversation is
complete. Output shown in between is lost, and a notice in its place says so. In another file the
messages are also shown, for the entries before are lost. A resumed session whose file is gone needs
its messages once more (`lacks_messages`).
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from sqlite3 import Connection
from uuid import uuid4

from acp_server.history import leases
from acp_server.history.call_tracker import CallReader, CallTracker
from acp_server.history.codec import HistoryRecord, encode
from acp_server.history.leases import LeaseHolder
from acp_server.history.merging import fail_interrupted, shown_events
from acp_server.history.rows import SAVE_FACTS, SAVE_SYSTEM, facts_row, system_row, text_to_column
from acp_server.history.tables import (
    MESSAGE,
    SUMMARY,
    THOUGHT,
    MessageRow,
    Write,
    add_message,
    change_open_calls,
    fetch_number,
    load_entry_numbers,
    merge_chunk_rows,
    replace_messages,
    save_entry,
)
from acp_server.history.writer_queue import (
    MessagesReplaced,
    RecordedItem,
    SessionCreated,
    SyncRequested,
    TurnEnded,
    TurnStarted,
)
from acp_server.session.ports.archive import (
    RemovedMessages,
    SeenFile,
    SessionFacts,
    TaskMessage,
    UnshownRecord,
)
from acp_server.turn.conversation import AssistantMessage, Message, UserMessage
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    ContextMeasured,
    Event,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SubAgentEnded,
    SubAgentProgressed,
    SubAgentStarted,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)

CHUNK_KINDS = {MessageChunk: MESSAGE, ThoughtChunk: THOUGHT, SummaryChunk: SUMMARY}
_EntryRecord = (
    PromptReceived | NoticeRaised | PlanChanged | CompactionChanged | TaskMessage | RemovedMessages
)
"""What is stored as one entry that never changes."""
GAP_NOTICE = "Some of the output shown here could not be saved."


class SessionRowWriter:
    """Database writes of one session."""

    def __init__(self, session_id: str, own_holder: LeaseHolder, reader: CallReader) -> None:
        self.id = session_id
        self.is_new = False
        """Whether it is not in the database yet."""
        self._holder = own_holder
        self._facts: SessionFacts | None = None
        """The current facts, once they have been recorded."""
        self._saved_facts: SessionFacts | None = None
        self._is_turn_open: bool | None = None
        self._is_suspended = False
        self._has_gap = False
        self._calls = CallTracker(session_id, reader)
        self._seen_files: dict[str, int] = {}
        """The entries of seen files by path: a later record is written in the same place."""
        self._stream: tuple[str, str, list[str]] | None = None
        """The text being streamed: its kind, its id, and its chunks since the last writes."""
        self._next_entry = 0
        self._turn_entry = 0
        self._stored_message_count = 0
        """Messages that are only in the database, before those held here."""
        self._messages: list[Message] = []
        self._are_messages_replaced = False
        self._writes: list[Write] = []

    @property
    def is_suspended(self) -> bool:
        """Whether only messages are recorded at present."""
        return self._is_suspended

    @property
    def turn_entry(self) -> int | None:
        """The first entry of the turn that runs; None if none does."""
        return self._turn_entry if self._is_turn_open else None

    @property
    def lacks_messages(self) -> bool:
        """Whether earlier messages are in the file alone."""
        return self._stored_message_count > 0

    def record(self, recorded: RecordedItem) -> None:
        """Take one more record."""
        match recorded:
            case SessionFacts():
                # Also while suspended: facts are state, not events, so the latest ones are enough.
                # If the clock was set back, the session keeps its later time.
                if self._facts is not None and self._facts.updated_at > recorded.updated_at:
                    recorded = replace(recorded, updated_at=self._facts.updated_at)
                self._facts = recorded
            case SessionCreated():
                self._facts, self.is_new = recorded.facts, True
            case UserMessage() | AssistantMessage():
                self._append(recorded)
            case MessagesReplaced():
                self._replace_messages(recorded.messages)
            case TurnStarted():
                self._turn_entry = self._next_entry
                self._set_turn(is_open=True)
            case TurnEnded():
                self._close_stream()
                self._queue_write(
                    partial(merge_chunk_rows, session_id=self.id, first=self._turn_entry)
                )
                self._set_turn(is_open=False)
            case SyncRequested():
                pass
            case _ if self._is_suspended:
                # A seen file that is not saved counts as unread after a restart: nothing is missing
                # from what was shown.
                self._has_gap |= not isinstance(recorded, SeenFile)
            case _:
                self._record_event(recorded)

    def pending_writes(self) -> Sequence[Write]:
        """Return the pending writes, in order."""
        if self._is_suspended:
            return ()
        self._close_stream()
        first_writes: list[Write] = []
        # First: the rows of all other tables refer to the session's row.
        if self._facts is not None and self._facts is not self._saved_facts:
            first_writes.append(partial(_save_facts, facts=self._facts, previous=self._saved_facts))
        if self.is_new:
            first_writes.append(partial(leases.claim, session_id=self.id, own_holder=self._holder))
        self._writes += self._calls.take_writes()
        return first_writes + self._writes

    def mark_written(self) -> None:
        """Note that all pending writes were committed."""
        self._writes = []
        # Only now and not in `pending_writes`: a failed transaction must write the facts again.
        self._saved_facts = self._facts
        self.is_new = self._are_messages_replaced = False
        # During a turn its calls still change; releasing them would mean reading them back each
        # time.
        if not self._is_turn_open:
            self._calls.release_ended()

    def load_state(self, connection: Connection) -> None:
        """Continue from the database's state; calls that are open there are marked as failed."""
        # The process that ran these calls is gone; no further event will end them.
        change_open_calls(connection, self.id, fail_interrupted)
        self._next_entry = fetch_number(
            connection,
            "SELECT coalesce(max(seq) + 1, 0) FROM entries WHERE session_id = ?",
            self.id,
        )
        self._stored_message_count = fetch_number(
            connection, "SELECT count(*) FROM messages WHERE session_id = ?", self.id
        )
        self._seen_files = load_entry_numbers(connection, self.id, SeenFile.__name__)
        self._calls.expect_stored()

    def suspend(self) -> None:
        """Note that nothing can be written."""
        self._has_gap |= bool(self._writes)
        # Without `_saved_facts`, recovery writes all facts, also to a file that has none of them.
        self._writes, self._stream, self._saved_facts = [], None, None
        self._seen_files.clear()
        self._is_suspended = True
        self._calls.clear()

    def recover(self, connection: Connection, *, is_other_file: bool) -> bool:
        """Complete the session in the open database; return False if that is impossible.

        It is if the session was deleted, is held by another process, or has lost earlier messages.
        The writes are queued; the caller executes them.
        """
        base_count = self._stored_message_count
        if self.id in leases.held_session_ids(connection, self._holder):
            self.load_state(connection)
            # `load_state` counts the messages in the file, some of which are also held here. Keep
            # our own base, or they would be numbered twice.
            file_count, self._stored_message_count = self._stored_message_count, base_count
        elif is_other_file or self.is_new:
            file_count, self.is_new, self._next_entry = 0, True, 0
        else:
            return False
        # Messages before `base_count` exist only in the file; if it has fewer, they are lost.
        if (file_count < base_count and not self._are_messages_replaced) or (
            self._facts is None and self.is_new
        ):
            return False
        self._queue_missing(0 if self._are_messages_replaced else file_count - base_count)
        return True

    def _queue_missing(self, first: int) -> None:
        """Queue all state that is missing, the messages from index `first` on."""
        self._is_suspended = False
        if self._has_gap and self.is_new:
            for event in shown_events(self._messages):
                self._record_event(event)
        if self._has_gap:
            self._record_event(NoticeRaised("warning", GAP_NOTICE, f"msg_{uuid4().hex}"))
        self._has_gap = False
        if self._are_messages_replaced:
            self._replace_messages(tuple(self._messages))
        else:
            missing = self._messages[first:]
            del self._messages[first:]
            for message in missing:
                self._append(message)
        if self._is_turn_open is not None:
            self._set_turn(is_open=self._is_turn_open)

    def _queue_write(self, write: Write) -> None:
        if not self._is_suspended:
            self._writes.append(write)

    def _set_turn(self, *, is_open: bool) -> None:
        self._is_turn_open = is_open
        self._queue_write(partial(_save_turn, session_id=self.id, is_open=is_open))

    def _append(self, message: Message) -> None:
        self._close_stream()
        # Kept in memory even while suspended: `recover` writes from here.
        self._messages.append(message)
        row = self._message_row(message, self._stored_message_count + len(self._messages) - 1)
        self._queue_write(partial(add_message, session_id=self.id, row=row))

    def _replace_messages(self, messages: tuple[Message, ...]) -> None:
        self._close_stream()
        # From here on all messages are held in memory, so none depend on the file.
        self._stored_message_count, self._messages = 0, list(messages)
        self._are_messages_replaced = True
        rows = [self._message_row(message, seq) for seq, message in enumerate(messages)]
        self._queue_write(partial(replace_messages, session_id=self.id, rows=rows))

    def _message_row(self, message: Message, seq: int) -> MessageRow:
        return MessageRow(seq, self._next_entry - 1, encode(message), datetime.now(UTC), message)

    def _record_event(self, event: Event | PromptReceived | UnshownRecord) -> None:
        match event:
            case MessageChunk() | ThoughtChunk() | SummaryChunk():
                self._append_chunk(event)
            case CallAppeared():
                self._close_stream()
                self._calls.open(event, self._new_entry())
            case CallChanged() | TerminalOpened() | TerminalEnded():
                self._calls.change(event)
            case TerminalPrinted():
                self._calls.print(event)
            case SeenFile():
                self._save_seen_file(event)
            # A replay shows only compactions that have ended.
            case CompactionChanged() if event.status == "in_progress":
                pass
            # A sub-agent's conversation is recorded message by message.
            case ContextMeasured() | SubAgentStarted() | SubAgentProgressed() | SubAgentEnded():
                pass
            case _:
                self._add_entry(event, _reference_of(event))

    def _append_chunk(self, chunk: MessageChunk | ThoughtChunk | SummaryChunk) -> None:
        """Continue the current text, or start one."""
        is_summary = isinstance(chunk, SummaryChunk)
        key = CHUNK_KINDS[type(chunk)], chunk.compaction_id if is_summary else chunk.message_id
        if self._stream is None or self._stream[:2] != key:
            self._close_stream()
            self._stream = (*key, [])
        self._stream[2].append(chunk.text)

    def _close_stream(self) -> None:
        """Queue the text streamed so far as one chunk."""
        if self._stream is not None:
            kind, message_id, pieces = self._stream
            self._stream = None
            self._save_entry(kind, message_id, "".join(pieces))

    def _save_seen_file(self, seen_file: SeenFile) -> None:
        entry = self._seen_files.get(seen_file.path)
        if entry is None:
            entry = self._seen_files[seen_file.path] = self._new_entry()
        self._write_entry(entry, SeenFile.__name__, seen_file.path, encode(seen_file))

    def _add_entry(self, event: HistoryRecord, ref: str) -> None:
        self._close_stream()
        self._save_entry(type(event).__name__, ref, encode(event))

    def _save_entry(self, kind: str, ref: str, body: str) -> None:
        self._write_entry(self._new_entry(), kind, ref, body)

    def _write_entry(self, entry: int, kind: str, ref: str, body: str) -> None:
        row = (self.id, entry, kind, text_to_column(ref), text_to_column(body))
        self._queue_write(partial(save_entry, row=row))

    def _new_entry(self) -> int:
        self._next_entry += 1
        return self._next_entry - 1


def _reference_of(event: _EntryRecord) -> str:
    """Return the id of the message, the call or the checkpoint that an entry is about."""
    match event:
        case PromptReceived() | NoticeRaised():
            return event.message_id
        case CompactionChanged():
            return event.compaction_id
        case TaskMessage():
            return event.call_id
        case RemovedMessages():
            return event.checkpoint
        case PlanChanged():
            return ""


def _save_facts(connection: Connection, facts: SessionFacts, previous: SessionFacts | None) -> None:
    connection.execute(SAVE_FACTS, facts_row(facts))
    if facts.system is None:
        connection.execute("DELETE FROM prompts WHERE session_id = ?", (facts.id,))
    elif previous is None or facts.system != previous.system:
        connection.execute(SAVE_SYSTEM, system_row(facts.id, facts.system))


def _save_turn(connection: Connection, session_id: str, *, is_open: bool) -> None:
    connection.execute("UPDATE sessions SET is_turn_open = ? WHERE id = ?", (is_open, session_id))
