"""The events of a stream as they arrive: bytes in, the data of whole events out.

For all forms; knows the lines of `text/event-stream` and nothing of what stands in them. Holds no
more than one event that is not whole yet, and that only up to a bound.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from collections.abc import AsyncIterator
from contextlib import suppress

import anyio

MOST_EVENT_BYTES = 32 * 1024 * 1024
DRAIN_SECONDS = 0.2
"""How long the end of a body is waited for, once all that was said has come."""
_FIELD = b"data"


class OversizedEventError(ValueError):
    """An event is larger than anything that a model says at once."""


class EventReader:
    """Cuts one stream into events; only their data is kept."""

    def __init__(self, most_event_bytes: int = MOST_EVENT_BYTES) -> None:
        self._most_bytes = most_event_bytes
        self._line: list[bytes] = []
        """The pieces of a line whose end has not come yet."""
        self._data: list[bytes] = []
        """The data of an event whose end has not come yet."""
        self._held_bytes = 0
        self._ended_in_return = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Take what has arrived; return the data of each event that is whole by now.

        Raises:
            OversizedEventError: one that is not whole is too large already.
        """
        if not chunk:
            return []
        if self._ended_in_return or b"\r" in chunk:
            chunk = self._with_newlines(chunk)
        whole, newline, rest = chunk.rpartition(b"\n")
        events: list[bytes] = []
        if newline:
            lines = b"".join((*self._line, whole)) if self._line else whole
            self._line.clear()
            events = [data for line in lines.split(b"\n") if (data := self._take(line))]
            self._held_bytes = sum(map(len, self._data))
        if rest:
            self._line.append(rest)
            self._held_bytes += len(rest)
        if self._held_bytes > self._most_bytes:
            reason = f"an event of more than {self._most_bytes:,} bytes"
            raise OversizedEventError(reason)
        return events

    def _with_newlines(self, chunk: bytes) -> bytes:
        """Return a chunk with all ends of lines as newlines; one may be cut by the chunk's end."""
        if self._ended_in_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._ended_in_return = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _take(self, line: bytes) -> bytes:
        """Return the data of the event that a line ends; nothing for any other line."""
        if line:
            name, _, value = line.partition(b":")
            if name == _FIELD:
                self._data.append(value.removeprefix(b" "))
            return b""
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        return data


async def drain(chunks: AsyncIterator[bytes], failures: tuple[type[Exception], ...]) -> None:
    """Read to the end of the body, if that comes soon, so that the connection can be used again."""
    with anyio.move_on_after(DRAIN_SECONDS), suppress(*failures):
        async for _ in chunks:
            pass
