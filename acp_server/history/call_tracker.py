"""Tracks the tool calls of one session while they may change, and their command output.

A call is one row that is rewritten when the call changes. Ended calls are released at the end of
their turn, and read back if they change once more.
"""

import logging
from collections import deque
from functools import partial
from typing import Protocol

from acp_server.history.codec import encode
from acp_server.history.merging import apply_change, is_open, new_call_record
from acp_server.history.rows import text_to_column
from acp_server.history.tables import (
    CALL,
    OPEN_CALL,
    TrackedCall,
    Write,
    drop_output,
    save_entry,
    save_output,
)
from acp_server.session.ports.archive import CallRecord
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
)

logger = logging.getLogger(__name__)

MAX_OUTPUT_CHARACTERS = 100_000
"""Stored output of one command; only its end is kept."""


class CallReader(Protocol):
    """Reads the stored calls of one session."""

    def find(self, call_id: str) -> TrackedCall | None:
        """Return the newest call with an id, without its record; None if there is none."""
        ...

    def read(self, entry: int) -> CallRecord | None:
        """Return the call stored in an entry, without its output; None if it cannot be read."""
        ...


class CallTracker:
    """The tool calls of a session, by call id."""

    def __init__(self, session_id: str, reader: CallReader) -> None:
        self._session_id = session_id
        self._reader = reader
        self._calls: dict[str, TrackedCall | None] = {}
        """None for an id that was looked for in the database and not found."""
        self._has_stored_calls = False
        self._changed: dict[str, None] = {}
        # Collected per flush: a command may print thousands of lines a second, and each chunk is a
        # row.
        self._pending_output: dict[str, list[str]] = {}
        self._writes: list[Write] = []

    def expect_stored(self) -> None:
        """Look for a call that this process did not begin in the database, once it changes."""
        self._has_stored_calls = True

    def open(self, event: CallAppeared, entry: int) -> None:
        """Start a call at its own entry; an earlier call may have had the same id."""
        # First write the changes of the earlier call with this id, which are found by id only.
        self._queue_writes(event.call_id)
        self._calls[event.call_id] = TrackedCall(entry, new_call_record(event))
        self._changed[event.call_id] = None

    def change(self, event: CallChanged | TerminalOpened | TerminalEnded) -> None:
        """Apply a change to a call; changes of calls that never appeared are ignored."""
        call = self._find(event.call_id)
        if call is None:
            return
        # Read from the database if an ended call changes again, for example when its terminal
        # closes after its turn.
        previous = self._reader.read(call.entry) if call.record is None else call.record
        if previous is None:
            return
        call.record = apply_change(previous, event)
        if call.record != previous:
            self._changed[event.call_id] = None

    def print(self, event: TerminalPrinted) -> None:
        """Collect output of a command."""
        if self._find(event.call_id) is not None:
            self._pending_output.setdefault(event.call_id, []).append(event.data)

    def take_writes(self) -> list[Write]:
        """Return the writes collected since the last call of this method."""
        # Both sources in one ordered set: a call's row comes before its output.
        for call_id in tuple(self._changed | dict.fromkeys(self._pending_output)):
            self._queue_writes(call_id)
        writes, self._writes = self._writes, []
        return writes

    def release_ended(self) -> None:
        """Release the records of ended calls; all of them are in the database."""
        for call in self._calls.values():
            # Only ended calls: an open one changes again soon, and may hold large content.
            if call is not None and call.record is not None and not is_open(call.record):
                call.record = None

    def clear(self) -> None:
        """Drop all calls and their unwritten changes."""
        self._calls, self._changed, self._pending_output, self._writes = {}, {}, {}, []

    def _find(self, call_id: str) -> TrackedCall | None:
        if self._has_stored_calls and call_id not in self._calls:
            self._calls[call_id] = self._reader.find(call_id)
        return self._calls.get(call_id)

    def _queue_writes(self, call_id: str) -> None:
        """Queue the writes for the pending changes of a call."""
        call = self._calls.get(call_id)
        if call is not None and call_id in self._changed and call.record is not None:
            self._save(call.entry, call.record)
        if call is not None and call_id in self._pending_output:
            self._save_output(call, "".join(self._pending_output[call_id])[-MAX_OUTPUT_CHARACTERS:])
        self._changed.pop(call_id, None)
        self._pending_output.pop(call_id, None)

    def _save(self, entry: int, record: CallRecord) -> None:
        kind = OPEN_CALL if is_open(record) else CALL
        try:
            body = encode(record)
        # One call with unusual content must not fail the transaction of all sessions.
        except ValueError:
            logger.exception("cannot encode a tool call; the history omits it")
            return
        row = (
            self._session_id,
            entry,
            kind,
            text_to_column(record.appeared.call_id),
            text_to_column(body),
        )
        self._writes.append(partial(save_entry, row=row))

    def _save_output(self, call: TrackedCall, data: str) -> None:
        """Queue a chunk of output, and drop the oldest chunks that are no longer needed."""
        chunks = deque[tuple[int, int]]() if call.output_chunks is None else call.output_chunks
        call.output_chunks = chunks
        number = chunks[-1][0] + 1 if chunks else 0
        chunks.append((number, len(data)))
        entry_key = {"session_id": self._session_id, "entry": call.entry}
        self._writes.append(partial(save_output, **entry_key, row=(number, data)))
        stored_characters = sum(length for _, length in chunks)
        first_number = chunks[0][0]
        # Whole chunks only: the reader cuts the rest, so a chunk never has to be rewritten.
        while stored_characters - chunks[0][1] >= MAX_OUTPUT_CHARACTERS:
            stored_characters -= chunks.popleft()[1]
        if chunks[0][0] > first_number:
            self._writes.append(partial(drop_output, **entry_key, before=chunks[0][0]))
