"""The calls of one session while they may change, and what their commands print.

A call is one row, written again when something is new about it; what has ended is let go with its
turn, and read back should it change once more.
"""

import logging
from collections.abc import Callable
from functools import partial

from acp_server.history.codec import encode
from acp_server.history.merging import changed, is_open, record_of
from acp_server.history.rows import spelled
from acp_server.history.tables import (
    CALL,
    OPEN_CALL,
    KeptCall,
    Write,
    drop_output,
    save_entry,
    save_output,
)
from acp_server.session.records import CallRecord
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
)

logger = logging.getLogger(__name__)

MOST_OUTPUT_CHARACTERS = 100_000
"""How much of what a command printed is kept: its end."""

ReadCall = Callable[[int], CallRecord | None]
"""Returns the call that stands in an entry, if it can be read."""


class CallBook:
    """The calls of a session, by their ids."""

    def __init__(self, session_id: str, read: ReadCall) -> None:
        self._session_id = session_id
        self._read = read
        self._calls: dict[str, KeptCall] = {}
        self._changed: dict[str, None] = {}
        self._printed: dict[str, list[str]] = {}
        self._writes: list[Write] = []

    def put_back(self, call_id: str, call: KeptCall) -> None:
        """Take a call that stands in the database."""
        self._calls[call_id] = call

    def open(self, event: CallAppeared, entry: int) -> None:
        """Begin a call, at an entry of its own; another one may have had its id before."""
        self._finish(event.call_id)
        self._calls[event.call_id] = KeptCall(entry, record_of(event))
        self._changed[event.call_id] = None

    def change(self, event: CallChanged | TerminalOpened | TerminalEnded) -> None:
        """Note what is new about a call; calls that never appeared are none of ours."""
        call = self._calls.get(event.call_id)
        before = None if call is None else self._record(call)
        if call is None or before is None:
            return
        call.record = changed(before, event)
        if call.record != before:
            self._changed[event.call_id] = None

    def print(self, event: TerminalPrinted) -> None:
        """Note what a command printed."""
        if event.call_id in self._calls:
            self._printed.setdefault(event.call_id, []).append(event.data)

    def writes(self) -> list[Write]:
        """Return what is to be written since this was last asked."""
        for call_id in tuple(self._changed | dict.fromkeys(self._printed)):
            self._finish(call_id)
        writes, self._writes = self._writes, []
        return writes

    def let_go(self) -> None:
        """Hold the calls that have ended no longer; all of them are in the database."""
        for call in self._calls.values():
            if call.record is not None and not is_open(call.record):
                call.record = None

    def forget(self) -> None:
        """Forget all calls, and what was to be written of them."""
        self._calls, self._changed, self._printed, self._writes = {}, {}, {}, []

    def _record(self, call: KeptCall) -> CallRecord | None:
        return self._read(call.entry) if call.record is None else call.record

    def _finish(self, call_id: str) -> None:
        """Have what is new about a call written."""
        call = self._calls.get(call_id)
        if call is not None and call_id in self._changed and call.record is not None:
            self._save(call.entry, call.record)
        if call is not None and call_id in self._printed:
            self._save_output(call, "".join(self._printed[call_id])[-MOST_OUTPUT_CHARACTERS:])
        self._changed.pop(call_id, None)
        self._printed.pop(call_id, None)

    def _save(self, entry: int, record: CallRecord) -> None:
        kind = OPEN_CALL if is_open(record) else CALL
        try:
            body = encode(record)
        except ValueError:
            logger.exception("a call is left out of history")
            return
        row = (self._session_id, entry, kind, spelled(record.appeared.call_id), spelled(body))
        self._writes.append(partial(save_entry, row=row))

    def _save_output(self, call: KeptCall, data: str) -> None:
        """Have a piece of output written; older ones go when there is enough without them."""
        number = call.pieces[-1][0] + 1 if call.pieces else 0
        call.pieces.append((number, len(data)))
        where = {"session_id": self._session_id, "entry": call.entry}
        self._writes.append(partial(save_output, **where, row=(number, data)))
        kept = sum(length for _, length in call.pieces)
        before = call.pieces[0][0]
        while kept - call.pieces[0][1] >= MOST_OUTPUT_CHARACTERS:
            kept -= call.pieces.popleft()[1]
        if call.pieces[0][0] > before:
            self._writes.append(partial(drop_output, **where, before=call.pieces[0][0]))
