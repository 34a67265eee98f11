"""The one FIFO of outgoing lines, filled by the event loop and emptied by a writer.

Bounded in bytes by consent: `put` never refuses (an answer or a cancel must always get through),
but whoever streams asks `has_room` first and waits. A line may replace an unsent one with the same
key: growing diffs and live output, of which only the latest matters.
"""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Condition

CAPACITY_BYTES = 128 * 1024


class Outbox:
    """A thread-safe queue of lines; one consumer."""

    def __init__(self, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self._capacity = capacity_bytes
        self._lines: OrderedDict[int, bytes] = OrderedDict()
        self._keys: dict[Hashable, int] = {}
        self._keyed: dict[int, Hashable] = {}
        self._next = 0
        self._bytes = 0
        self._in_hand = False
        self._closed = False
        self._changed = Condition()

    def put(self, line: bytes, replaces: Hashable = None) -> None:
        """Append a line; with a key, drop the unsent line of the same key. No-op once closed."""
        with self._changed:
            if self._closed:
                return
            if replaces is not None:
                self._replace(replaces)
            self._lines[self._next] = line
            self._next += 1
            self._bytes += len(line)
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
        return taken
