"""One session as it is being kept: turns what is recorded into rows.

Holds what the next rows depend on: numbers, calls that still change, and the messages, by
reference. Rows are collected (`take`, then `rows`) and written by somebody else, all or none; until
then (`settle`) nothing is thought to be there.

When rows cannot be written, the session has a hole (`break_off`). From then on only the messages
are noted. Once there is a database again (`recover`) those that are missing are written, so the
conversation is whole; what was shown is not, and a notice says so in its place. A session that was
resumed and whose database is gone cannot be made whole, and is not kept any more.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from sqlite3 import Connection
from typing import assert_never
from uuid import uuid4

from acp_server.history import leases
from acp_server.history.calls import CallBook, ReadCall
from acp_server.history.codec import Record, encode
from acp_server.history.inbox import Created, Rebuilt, Recorded, SyncWanted, TurnBegun, TurnEnded
from acp_server.history.leases import Holder
from acp_server.history.rows import SAVE_FACTS, SAVE_SYSTEM, facts_row, spelled, system_row
from acp_server.history.tables import (
    MESSAGE,
    SUMMARY,
    THOUGHT,
    MessageRow,
    Write,
    add_message,
    fail_open_calls,
    join_pieces,
    kept_calls,
    number,
    replace_messages,
    save_entry,
)
from acp_server.session.records import SessionFacts, TaskMessage
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
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)

CHUNKS = {MessageChunk: MESSAGE, ThoughtChunk: THOUGHT, SummaryChunk: SUMMARY}
HOLE = "Some of what was shown here could not be kept."


class Scribe:
    """Keeps one session."""

    def __init__(self, session_id: str, here: Holder, read: ReadCall) -> None:
        self.id = session_id
        self.is_new = False
        """Whether it is not in the database yet."""
        self._here = here
        self._facts: SessionFacts | None = None
        """What they are now, once they were told to us."""
        self._saved: SessionFacts | None = None
        self._is_turn_open: bool | None = None
        self._is_broken_off = False
        self._has_hole = False
        self._calls = CallBook(session_id, read)
        self._stream: tuple[str, str, list[str]] | None = None
        """The text that is being said: its kind, its id, its pieces since the last rows."""
        self._next_entry = 0
        self._turn_entry = 0
        self._base = 0
        """How many messages stand in the database only, before those that are held here."""
        self._messages: list[Message] = []
        self._are_rebuilt = False
        self._writes: list[Write] = []

    def take(self, recorded: Recorded) -> None:
        """Take one more record."""
        match recorded:
            case SessionFacts():
                self._facts = _later(self._facts, recorded)
            case Created():
                self._facts, self.is_new = recorded.facts, True
            case UserMessage() | AssistantMessage():
                self._append(recorded)
            case Rebuilt():
                self._rebuild(recorded.messages)
            case TurnBegun():
                self._turn_entry = self._next_entry
                self._set_turn(is_open=True)
            case TurnEnded():
                self._close_stream()
                self._write(partial(join_pieces, session_id=self.id, first=self._turn_entry))
                self._set_turn(is_open=False)
            case SyncWanted():
                pass
            case _ if self._is_broken_off:
                self._has_hole = True
            case _:
                self._show(recorded)

    def rows(self) -> Sequence[Write]:
        """Return what is to be written, in order."""
        self._close_stream()
        begun: list[Write] = []
        if self._facts is not None and self._facts is not self._saved:
            begun.append(partial(_save_facts, facts=self._facts, before=self._saved))
        if self.is_new:
            begun.append(partial(leases.take, session_id=self.id, here=self._here))
        self._writes += self._calls.writes()
        return begun + self._writes

    def settle(self) -> None:
        """Take note that all rows were written."""
        self._writes = []
        self._saved = self._facts
        self.is_new = self._are_rebuilt = False
        if not self._is_turn_open:
            self._calls.let_go()

    def adopt(self, connection: Connection) -> None:
        """Go on from what stands in the database; calls that were open there are failed."""
        fail_open_calls(connection, self.id)
        self._next_entry = number(
            connection,
            "SELECT coalesce(max(seq) + 1, 0) FROM entries WHERE session_id = ?",
            self.id,
        )
        self._base = _count_messages(connection, self.id)
        for call_id, call in kept_calls(connection, self.id):
            self._calls.put_back(call_id, call)

    def break_off(self) -> None:
        """Take note that no rows can be written."""
        self._has_hole |= bool(self._writes)
        self._writes, self._stream, self._saved = [], None, None
        self._is_broken_off = True
        self._calls.forget()

    def recover(self, connection: Connection, *, is_other_file: bool) -> bool:
        """Make the session whole again, by rows that are now to be written; false if it cannot be.

        Then it was deleted, is another process's now, or its earlier messages are gone.
        """
        base = self._base
        if self._stands_in(connection):
            self.adopt(connection)
            kept, self._base = self._base, base
        elif is_other_file or self.is_new:
            kept, self.is_new, self._next_entry = 0, True, 0
        else:
            return False
        if (kept < base and not self._are_rebuilt) or (self._facts is None and self.is_new):
            return False
        self._restate(0 if self._are_rebuilt else kept - base)
        return True

    def _stands_in(self, connection: Connection) -> bool:
        return self.id in leases.mine(connection, self._here)

    def _restate(self, first: int) -> None:
        """Have everything written that is held here, the messages from one on."""
        self._is_broken_off = False
        if self._has_hole:
            self._show(NoticeRaised("warning", HOLE, f"msg_{uuid4().hex}"))
        self._has_hole = False
        if self._are_rebuilt:
            self._rebuild(tuple(self._messages))
        else:
            missing = self._messages[first:]
            del self._messages[first:]
            for message in missing:
                self._append(message)
        if self._is_turn_open is not None:
            self._set_turn(is_open=self._is_turn_open)

    def _write(self, write: Write) -> None:
        if not self._is_broken_off:
            self._writes.append(write)

    def _set_turn(self, *, is_open: bool) -> None:
        self._is_turn_open = is_open
        self._write(partial(_save_turn, session_id=self.id, is_open=is_open))

    def _append(self, message: Message) -> None:
        self._close_stream()
        self._messages.append(message)
        row = self._message_row(message, self._base + len(self._messages) - 1)
        self._write(partial(add_message, session_id=self.id, row=row))

    def _rebuild(self, messages: tuple[Message, ...]) -> None:
        self._close_stream()
        self._base, self._messages, self._are_rebuilt = 0, list(messages), True
        rows = [self._message_row(message, seq) for seq, message in enumerate(messages)]
        self._write(partial(replace_messages, session_id=self.id, rows=rows))

    def _message_row(self, message: Message, seq: int) -> MessageRow:
        return MessageRow(seq, self._next_entry - 1, encode(message), datetime.now(UTC), message)

    def _show(self, event: Event | PromptReceived | TaskMessage) -> None:
        match event:
            case MessageChunk() | ThoughtChunk() | SummaryChunk():
                self._say(event)
            case CallAppeared():
                self._close_stream()
                self._calls.open(event, self._new_entry())
            case CallChanged() | TerminalOpened() | TerminalEnded():
                self._calls.change(event)
            case TerminalPrinted():
                self._calls.print(event)
            case PromptReceived() | NoticeRaised() | PlanChanged() | CompactionChanged():
                self._note(event)
            case TaskMessage():
                self._enter(event, event.call_id)
            case ContextMeasured():
                pass
            case _:
                assert_never(event)

    def _note(self, event: PromptReceived | NoticeRaised | PlanChanged | CompactionChanged) -> None:
        """Keep what is shown whole; of a compaction, that it has ended."""
        match event:
            case PromptReceived() | NoticeRaised():
                self._enter(event, event.message_id)
            case PlanChanged():
                self._enter(event, "")
            case CompactionChanged():
                if event.status != "in_progress":
                    self._enter(event, event.compaction_id)

    def _say(self, chunk: MessageChunk | ThoughtChunk | SummaryChunk) -> None:
        """Go on with a text, or begin one."""
        is_summary = isinstance(chunk, SummaryChunk)
        key = CHUNKS[type(chunk)], chunk.compaction_id if is_summary else chunk.message_id
        if self._stream is None or self._stream[:2] != key:
            self._close_stream()
            self._stream = (*key, [])
        self._stream[2].append(chunk.text)

    def _close_stream(self) -> None:
        """Have the text that was said so far written as a piece."""
        if self._stream is not None:
            kind, message_id, pieces = self._stream
            self._stream = None
            self._save_entry(kind, message_id, "".join(pieces))

    def _enter(self, event: Record, ref: str) -> None:
        self._close_stream()
        self._save_entry(type(event).__name__, ref, encode(event))

    def _save_entry(self, kind: str, ref: str, body: str) -> None:
        row = (self.id, self._new_entry(), kind, spelled(ref), spelled(body))
        self._write(partial(save_entry, row=row))

    def _new_entry(self) -> int:
        self._next_entry += 1
        return self._next_entry - 1


def _later(before: SessionFacts | None, facts: SessionFacts) -> SessionFacts:
    """Return newer facts; a clock that went back does not make the session older."""
    if before is None or before.updated_at <= facts.updated_at:
        return facts
    return replace(facts, updated_at=before.updated_at)


def _save_facts(connection: Connection, facts: SessionFacts, before: SessionFacts | None) -> None:
    connection.execute(SAVE_FACTS, facts_row(facts))
    if facts.system is None:
        connection.execute("DELETE FROM prompts WHERE session_id = ?", (facts.id,))
    elif before is None or facts.system != before.system:
        connection.execute(SAVE_SYSTEM, system_row(facts.id, facts.system))


def _save_turn(connection: Connection, session_id: str, *, is_open: bool) -> None:
    connection.execute("UPDATE sessions SET is_turn_open = ? WHERE id = ?", (is_open, session_id))


def _count_messages(connection: Connection, session_id: str) -> int:
    return number(connection, "SELECT count(*) FROM messages WHERE session_id = ?", session_id)
