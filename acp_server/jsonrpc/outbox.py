"""The one FIFO of outgoing lines, filled by the event loop and emptied by a writer.

The bound in bytes is cooperative: `put` never refuses, because a response or a cancel must always
get through, but streaming senders check `has_capacity` and wait. Two mechanisms keep the queue
short while the reader is slow: a line may replace an unsent one with the same key (growing diffs
and live
output, of which only the latest matters), and from the moment the queue is full until it is empty
again, consecutive unsent chunks of one text are coalesced into fewer lines.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Condition

CAPACITY_BYTES = 128 * 1024
MAX_COALESCED_BYTES = 8 * 1024
"""A line above this size, in bytes, is not extended further."""


@dataclass(frozen=True, slots=True, eq=False)
class CoalesceKey:
    """Identifies lines that may be coalesced: byte lengths of the template around the text."""

    head_bytes: int
    tail_bytes: int


class Outbox:
    """A thread-safe queue of lines with a single consumer."""

    def __init__(self, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity_bytes
        self._lines: OrderedDict[int, bytes] = OrderedDict()
        self._number_by_key: dict[Hashable, int] = {}
        self._key_by_number: dict[int, Hashable] = {}
        self._next = 0
        self._last_coalesce_key: CoalesceKey | None = None
        """The coalesce key of the most recent line."""
        self._is_reader_behind = False
        """Whether the queue was full and has not been empty since."""
        self._unsent_bytes = 0
        self._is_delivering = False
        self._is_closed = False
        self._changed = Condition()

    def put(
        self, line: bytes, replace_key: Hashable = None, coalesce_key: CoalesceKey | None = None
    ) -> None:
        """Append a line; with a key, drop the unsent line of that key. No-op once closed.

        A line with the coalesce key of the previous line may be joined to it while that is unsent.
        """
        with self._changed:
            # `_try_coalesce` must see every line, also those without a key: any line in between
            # ends a run of chunks.
            if self._is_closed or self._try_coalesce(line, coalesce_key):
                return
            if replace_key is not None:
                self._replace(replace_key)
            self._lines[self._next] = line
            self._next += 1
            self._unsent_bytes += len(line)
            # Stays set until the queue is empty (see `_pop`), so a reader that fell behind gets its
            # whole backlog coalesced.
            self._is_reader_behind = self._is_reader_behind or not self.has_capacity
            self._changed.notify()

    @property
    def has_capacity(self) -> bool:
        """Whether another streamed line may be put now. True once closed: no sender should wait."""
        return self._unsent_bytes < self._capacity or self._is_closed

    @property
    def is_empty(self) -> bool:
        """Whether every line was taken and delivered."""
        return not self._lines and not self._is_delivering

    def take(self, limit_bytes: int) -> list[bytes]:
        """Wait for lines and return the oldest, at least one. Empty: closed and drained.

        The consumer calls `mark_delivered` when they are written.
        """
        with self._changed:
            while not self._lines and not self._is_closed:
                self._changed.wait()
            # Before the lines leave the queue: `is_empty` reads without the lock, and in the other
            # order a flush could return while these lines are still unwritten.
            self._is_delivering = bool(self._lines)
            return self._pop(limit_bytes)

    def mark_delivered(self) -> None:
        """Note that the lines last taken were written, or never will be."""
        self._is_delivering = False

    def take_nowait(self, limit_bytes: int) -> list[bytes]:
        """Return the lines `take` would return, without waiting, and count them as delivered."""
        with self._changed:
            return self._pop(limit_bytes)

    def close(self, *, discard: bool = False) -> None:
        """Accept no more lines; with `discard`, also drop the unsent ones."""
        with self._changed:
            self._is_closed = True
            if discard:
                self._pop(self._unsent_bytes)
            self._changed.notify()

    def _try_coalesce(self, line: bytes, coalesce_key: CoalesceKey | None) -> bool:
        """Append a line's text to the previous line if the reader is behind; return whether."""
        # Compared by identity: two sessions may have templates of equal length, and their texts
        # must not mix.
        previous_key, self._last_coalesce_key = self._last_coalesce_key, coalesce_key
        if coalesce_key is None or coalesce_key is not previous_key or not self._is_reader_behind:
            return False
        last_line = self._lines.get(self._next - 1)
        # None: the previous line is already with the writer.
        if last_line is None or len(last_line) > MAX_COALESCED_BYTES:
            return False
        self._lines[self._next - 1] = (
            last_line[: -coalesce_key.tail_bytes] + line[coalesce_key.head_bytes :]
        )
        self._unsent_bytes += len(line) - coalesce_key.head_bytes - coalesce_key.tail_bytes
        return True

    def _replace(self, key: Hashable) -> None:
        # The new line goes to the end and not to the old one's place: it must not overtake lines
        # queued since.
        old_number = self._number_by_key.get(key)
        if old_number is not None:
            self._unsent_bytes -= len(self._lines.pop(old_number))
            del self._key_by_number[old_number]
        self._number_by_key[key] = self._next
        self._key_by_number[self._next] = key

    def _pop(self, limit_bytes: int) -> list[bytes]:
        lines: list[bytes] = []
        size = 0
        while self._lines and size < limit_bytes:
            number, line = self._lines.popitem(last=False)
            key = self._key_by_number.pop(number, None)
            if key is not None:
                del self._number_by_key[key]
            lines.append(line)
            size += len(line)
        self._unsent_bytes -= size
        self._is_reader_behind = self._is_reader_behind and bool(self._lines)
        return lines
