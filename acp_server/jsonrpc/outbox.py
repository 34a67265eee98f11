"""The one FIFO of outgoing lines, filled by the event loop and emptied by a writer.

The bound in bytes is cooperative: `put` never refuses, because a response or a cancel must always
get through, but streaming senders check `has_room` and wait. Two mechanisms keep the queue short
while the reader is slow: a line may replace an unsent one with the same key (growing diffs and live
output, of which only the latest matters), and from the moment the queue is full until it is empty
again, consecutive unsent chunks of one text are coalesced into fewer lines.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Condition

CAPACITY_BYTES = 128 * 1024
MOST_JOINED_BYTES = 8 * 1024
"""A line above this size, in bytes, is not extended further."""


@dataclass(frozen=True, slots=True, eq=False)
class Seam:
    """Identifies lines that may be coalesced: byte lengths of the template around the text."""

    head_bytes: int
    tail_bytes: int


class Outbox:
    """A thread-safe queue of lines with a single consumer."""

    def __init__(self, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity_bytes
        self._lines: OrderedDict[int, bytes] = OrderedDict()
        self._keys: dict[Hashable, int] = {}
        self._keyed: dict[int, Hashable] = {}
        self._next = 0
        self._seam: Seam | None = None
        """The coalesce key of the most recent line."""
        self._is_behind = False
        """Whether the queue was full and has not been empty since."""
        self._bytes = 0
        self._in_hand = False
        self._closed = False
        self._changed = Condition()

    def put(self, line: bytes, replaces: Hashable = None, seam: Seam | None = None) -> None:
        """Append a line; with a key, drop the unsent line of that key. No-op once closed.

        A line with the coalesce key of the previous line may be joined to it while that is unsent.
        """
        with self._changed:
            # `_joined` must see every line, also those without a key: any line in between ends a
            # run of chunks.
            if self._closed or self._joined(line, seam):
                return
            if replaces is not None:
                self._replace(replaces)
            self._lines[self._next] = line
            self._next += 1
            self._bytes += len(line)
            # Stays set until the queue is empty (see `_pop`), so a reader that fell behind gets its
            # whole backlog coalesced.
            self._is_behind = self._is_behind or not self.has_room
            self._changed.notify()

    @property
    def has_room(self) -> bool:
        """Whether another streamed line may be put now. True once closed: no sender should wait."""
        return self._bytes < self._capacity or self._closed

    @property
    def is_empty(self) -> bool:
        """Whether every line was taken and delivered."""
        return not self._lines and not self._in_hand

    def take(self, limit_bytes: int) -> list[bytes]:
        """Wait for lines and return the oldest, at least one. Empty: closed and drained.

        The consumer calls `delivered` when they are written.
        """
        with self._changed:
            while not self._lines and not self._closed:
                self._changed.wait()
            # Before the lines leave the queue: `is_empty` reads without the lock, and in the other
            # order a flush could return while these lines are still unwritten.
            self._in_hand = bool(self._lines)
            return self._pop(limit_bytes)

    def delivered(self) -> None:
        """Note that the lines last taken were written, or never will be."""
        self._in_hand = False

    def take_now(self, limit_bytes: int) -> list[bytes]:
        """Return the lines `take` would return, without waiting, and count them as delivered."""
        with self._changed:
            return self._pop(limit_bytes)

    def close(self, *, discard: bool = False) -> None:
        """Accept no more lines; with `discard`, also drop the unsent ones."""
        with self._changed:
            self._closed = True
            if discard:
                self._pop(self._bytes)
            self._changed.notify()

    def _joined(self, line: bytes, seam: Seam | None) -> bool:
        """Append a line's text to the previous line if the reader is behind; return whether."""
        # Compared by identity: two sessions may have templates of equal length, and their texts
        # must not mix.
        former, self._seam = self._seam, seam
        if seam is None or seam is not former or not self._is_behind:
            return False
        last = self._lines.get(self._next - 1)
        # None: the previous line is already with the writer.
        if last is None or len(last) > MOST_JOINED_BYTES:
            return False
        self._lines[self._next - 1] = last[: -seam.tail_bytes] + line[seam.head_bytes :]
        self._bytes += len(line) - seam.head_bytes - seam.tail_bytes
        return True

    def _replace(self, key: Hashable) -> None:
        # The new line goes to the end and not to the old one's place: it must not overtake lines
        # queued since.
        older = self._keys.get(key)
        if older is not None:
            self._bytes -= len(self._lines.pop(older))
            del self._keyed[older]
        self._keys[key] = self._next
        self._keyed[self._next] = key

    def _pop(self, limit_bytes: int) -> list[bytes]:
        taken: list[bytes] = []
        size = 0
        while self._lines and size < limit_bytes:
            number, line = self._lines.popitem(last=False)
            key = self._keyed.pop(number, None)
            if key is not None:
                del self._keys[key]
            taken.append(line)
            size += len(line)
        self._bytes -= size
        self._is_behind = self._is_behind and bool(self._lines)
        return taken
