"""Reads the shown history of one session page by page, however long it is.

Each page is a read transaction of its own, so the session may go on meanwhile: entries after the
last one are left out, and a turn that runs at the beginning is read at once, because its end merges
the rows of its texts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from sqlite3 import Connection
from typing import TypeGuard, cast

from acp_server.history.merging import merge_chunks
from acp_server.history.rows import Column, text_from_column
from acp_server.history.session_reads import EntryRow, decoded_entries, last_entry, read_entry
from acp_server.history.tables import MESSAGE, SUMMARY, THOUGHT
from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    HistoryPage,
    RemovedMessages,
    SeenFile,
    TaskMessage,
)
from acp_server.session.replayed_ranges import EntryRange, Rewind, replayed_ranges, target_of
from acp_server.turn.conversation import AssistantMessage, UserMessage
from acp_server.turn.events import CompactionChanged, PromptReceived, SummaryChunk

PAGE_CHARACTERS = 512 * 1024
"""How much of stored bodies and output a page holds; at least one entry."""
CHUNK_KINDS = (MESSAGE, THOUGHT, SUMMARY)


class HistoryPages:
    """The history of a session, from its first page to its last."""

    def __init__(self, session_id: str, last: int | None, turn_entry: int | None) -> None:
        """Read up to the entry `last`; `turn_entry` is the first entry of a turn that runs."""
        self.session_id = session_id
        self._last = last
        self._turn_entry = turn_entry
        self._ranges: list[EntryRange] | None = None
        """The ranges that are left to read, in order; None before the first page."""
        self._turn_entries: Sequence[Entry] = ()
        """The entries of the turn that runs; replayed last."""
        self._split: dict[tuple[str, str], int] = {}
        """Texts with chunks in several rows: kind and reference, and the number of the first."""
        self._ended: set[str] = set()
        """The ids of compactions that ended."""
        self._task_rows: dict[str, list[int]] = {}
        """The entries of sub-agents' messages, by delegating call; removed once a page has them."""

    def next(self, connection: Connection) -> HistoryPage | None:
        """Return the next page; None after the last."""
        if self._ranges is None:
            self._ranges = self._open(connection)
        entries: list[Entry] = []
        tasks: dict[str, Sequence[TaskMessage]] = {}
        size = 0
        while self._ranges and size < PAGE_CHARACTERS:
            first, last = self._ranges.pop(0)
            for row in self._rows(connection, first, last):
                entry = self._entry(connection, row)
                if entry is not None:
                    entries.append(entry)
                    tasks |= self._tasks_of(connection, entry)
                    size += _size(row, entry)
                if size >= PAGE_CHARACTERS:
                    if row[0] < last:
                        self._ranges.insert(0, (row[0] + 1, last))
                    break
        if not entries and self._turn_entries:
            entries, self._turn_entries = [*self._turn_entries], ()
            for entry in entries:
                tasks |= self._tasks_of(connection, entry)
        if not entries:
            return None
        summaries = {each.compaction_id for each in entries if isinstance(each, SummaryChunk)}
        return HistoryPage(entries, tasks, frozenset(summaries - self._ended))

    def _open(self, connection: Connection) -> list[EntryRange]:
        """Return the ranges of entries to replay, without the turn that runs, which is read."""
        newest = last_entry(connection, self.session_id)
        last = newest if self._last is None else min(self._last, newest)
        ranges = find_ranges(connection, self.session_id, last)
        self._find_split_texts(connection, last)
        self._find_tasks(connection, ranges)
        if self._turn_entry is None:
            return ranges
        turn_ranges = [(max(start, self._turn_entry), end) for start, end in ranges]
        read = (
            read_entry(connection, self.session_id, row)
            for start, end in turn_ranges
            for row in self._rows(connection, start, end)
        )
        self._turn_entries = merge_chunks(entry for entry in read if _is_replayed(entry))
        settled = ((start, min(end, self._turn_entry - 1)) for start, end in ranges)
        return [(start, end) for start, end in settled if start <= end]

    def _find_split_texts(self, connection: Connection, last: int) -> None:
        rows: Iterable[tuple[str, Column, int]] = connection.execute(
            "SELECT kind, ref, min(seq) FROM entries WHERE session_id = ? AND seq <= ?"
            " AND kind IN (?, ?, ?) GROUP BY kind, ref HAVING count(*) > 1",
            (self.session_id, last, *CHUNK_KINDS),
        )
        self._split = {(kind, text_from_column(ref)): first for kind, ref, first in rows}
        ended: Iterable[tuple[Column]] = connection.execute(
            "SELECT ref FROM entries WHERE session_id = ? AND kind = ?",
            (self.session_id, CompactionChanged.__name__),
        )
        self._ended = {text_from_column(row[0]) for row in ended}

    def _find_tasks(self, connection: Connection, ranges: Sequence[EntryRange]) -> None:
        rows: Iterable[tuple[int, Column]] = connection.execute(
            "SELECT seq, ref FROM entries WHERE session_id = ? AND kind = ? ORDER BY seq",
            (self.session_id, TaskMessage.__name__),
        )
        for seq, ref in rows:
            if any(start <= seq <= end for start, end in ranges):
                self._task_rows.setdefault(text_from_column(ref), []).append(seq)

    def _rows(self, connection: Connection, first: int, last: int) -> Iterator[EntryRow]:
        yield from connection.execute(
            "SELECT seq, kind, ref, body FROM entries"
            " WHERE session_id = ? AND seq BETWEEN ? AND ? ORDER BY seq",
            (self.session_id, first, last),
        )

    def _entry(self, connection: Connection, row: EntryRow) -> Entry | None:
        """Return a row's entry, a text with all of its chunks; None if it shows nothing."""
        seq, kind, ref, body = row
        first = self._split.get((kind, text_from_column(ref))) if self._split else None
        if first is not None:
            if first != seq:
                return None
            body = self._whole_text(connection, row)
        entry = read_entry(connection, self.session_id, (seq, kind, ref, body))
        return entry if _is_replayed(entry) else None

    def _whole_text(self, connection: Connection, row: EntryRow) -> str:
        seq, kind, ref, _ = row
        rows: Iterable[tuple[Column]] = connection.execute(
            "SELECT body FROM entries WHERE session_id = ? AND seq >= ? AND kind = ? AND ref = ?"
            " ORDER BY seq",
            (self.session_id, seq, kind, ref),
        )
        return "".join(text_from_column(each[0]) for each in rows)

    def _tasks_of(
        self, connection: Connection, entry: Entry
    ) -> Mapping[str, Sequence[TaskMessage]]:
        """Return the messages of the sub-agents that an entry belongs to, if no page gave them."""
        match entry:
            case CallRecord():
                call_id = entry.appeared.parent_id
            case TaskMessage():
                call_id = entry.call_id
            case _:
                return {}
        numbers = self._task_rows.pop(call_id, None)
        if numbers is None:
            return {}
        return {call_id: tuple(self._task_messages(connection, numbers))}

    def _task_messages(
        self, connection: Connection, numbers: Sequence[int]
    ) -> Iterator[TaskMessage]:
        begun: set[int] = set()
        for seq in numbers:
            row: EntryRow | None = connection.execute(
                "SELECT seq, kind, ref, body FROM entries WHERE session_id = ? AND seq = ?",
                (self.session_id, seq),
            ).fetchone()
            entry = None if row is None else read_entry(connection, self.session_id, row)
            if isinstance(entry, TaskMessage):
                # What a sub-agent receives is not shown, but for its task: results may be long.
                is_shown = isinstance(entry.message, AssistantMessage) or entry.number not in begun
                begun.add(entry.number)
                yield entry if is_shown else replace(entry, message=UserMessage(()))


def find_ranges(connection: Connection, session_id: str, last: int) -> list[EntryRange]:
    """Return the ranges of entries up to `last` that rewinds have left, in their order."""
    rewinds = [
        Rewind(seq, entry.checkpoint, target_of(entry))
        for seq, entry in decoded_entries(connection, session_id, (RemovedMessages.__name__,))
        if isinstance(entry, RemovedMessages) and seq <= last
    ]
    prompts: list[tuple[int, str]] = []
    if rewinds:
        prompts += (
            (seq, entry.checkpoint)
            for seq, entry in decoded_entries(connection, session_id, (PromptReceived.__name__,))
            if isinstance(entry, PromptReceived)
        )
    return [*replayed_ranges(prompts, rewinds, last)]


def _is_replayed(entry: Entry | None) -> TypeGuard[Entry]:
    return entry is not None and not isinstance(entry, SeenFile | RemovedMessages)


def _size(row: EntryRow, entry: Entry) -> int:
    terminal = entry.terminal if isinstance(entry, CallRecord) else None
    return len(cast("str | bytes", row[3])) + (0 if terminal is None else len(terminal.data))
