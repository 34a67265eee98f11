"""The one FIFO of outgoing lines, filled by the event loop and emptied by a writer.

Bounded in bytes by consent: `put` never refuses (an answer or a cancel must always get through),
but whoever streams asks `has_room` first and waits. A line may replace an unsent one with the same
key: growing diffs and live output, of which only the latest matters. And from the moment that the
queue is full until it is empty again, unsent pieces of one text are joined: a reader who has fallen
behind gets the same text in fewer lines.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from threading import Condition

CAPACITY_BYTES = 128 * 1024
MOST_JOINED_BYTES = 8 * 1024
"""How long a line may grow by joining."""


@dataclass(frozen=True, slots=True, eq=False)
class Seam:
    """Lines that are pieces of one text: how much of each stands before and behind its piece."""

    head_bytes: int
    tail_bytes: int


class Outbox:
    """A thread-safe queue of lines; one consumer."""

    def __init__(self, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity_bytes
        self._lines: OrderedDict[int, bytes] = OrderedDict()
        self._keys: dict[Hashable, int] = {}
        self._keyed: dict[int, Hashable] = {}
        self._next = 0
        self._seam: Seam | None = None
        """That of the line which was put last."""
        self._is_behind = False
        """Whether the queue was full and has not been empty since."""
        self._bytes = 0
        self._in_hand = False
        self._closed = False
        self._changed = Condition()

    def put(self, line: bytes, replaces: Hashable = None, seam: Seam | None = None) -> None:
        """Append a line; with a key, drop the unsent line of the same key. No-op once closed.

        A line with the seam of the last one may be joined to that, while it is unsent.
        """
        with self._changed:
            if self._closed or self._joined(line, seam):
                return
            if replaces is not None:
                self._replace(replaces)
            self._lines[self._next] = line
            self._next += 1
            self._bytes += len(line)
            self._is_behind = self._is_behind or not self.has_room
            self._changed.notify()

    @property
    def has_room(self) -> bool:
        """Whether another streamed line may be put now; true once closed: nobody should wait."""
        return self._bytes < self._capacity or self._closed

    @property
    def is_empty(self) -> bool:
        """Whether everything put was taken and delivered."""
        return not self._lines and not self._in_hand

    def take(self, limit_bytes: int) -> list[bytes]:
        """Wait for lines; return the oldest, at least one. Empty: closed and nothing is left.

        The consumer says `delivered` when it is through with them.
        """
        with self._changed:
            while not self._lines and not self._closed:
                self._changed.wait()
            self._in_hand = bool(self._lines)  # first: `is_empty` looks without the lock
            return self._pop(limit_bytes)

    def delivered(self) -> None:
        """Note that what was taken last has reached the other side, or never will."""
        self._in_hand = False

    def take_now(self, limit_bytes: int) -> list[bytes]:
        """Return what `take` would, without waiting, as delivered."""
        with self._changed:
            return self._pop(limit_bytes)

    def close(self, *, discard: bool = False) -> None:
        """Take no more lines; with `discard`, forget the unsent ones too."""
        with self._changed:
            self._closed = True
            if discard:
                self._pop(self._bytes)
            self._changed.notify()

    def _joined(self, line: bytes, seam: Seam | None) -> bool:
        """Join a line to the last one if the reader is behind; return whether."""
        former, self._seam = self._seam, seam
        if seam is None or seam is not former or not self._is_behind:
            return False
        last = self._lines.get(self._next - 1)
        if last is None or len(last) > MOST_JOINED_BYTES:
            return False
        self._lines[self._next - 1] = last[: -seam.tail_bytes] + line[seam.head_bytes :]
        self._bytes += len(line) - seam.head_bytes - seam.tail_bytes
        return True

    def _replace(self, key: Hashable) -> None:
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
