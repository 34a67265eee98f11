"""Incremental decoder of server-sent events: bytes in, the data of complete events out.

Used for all API formats; knows `text/event-stream` framing and not the payload. Buffers at most
one incomplete event, up to a size limit.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from collections.abc import AsyncIterator
from contextlib import suppress

import anyio

MAX_EVENT_BYTES = 32 * 1024 * 1024
DRAIN_SECONDS = 0.2
"""How long to wait for the end of the body after the answer is complete."""
_DATA_FIELD = b"data"


class OversizedEventError(ValueError):
    """An event exceeds the size limit."""


class SseDecoder:
    """Decodes one stream; keeps only the `data` field of each event."""

    def __init__(self, max_event_bytes: int = MAX_EVENT_BYTES) -> None:
        self._max_bytes = max_event_bytes
        self._line_pieces: list[bytes] = []
        """The pieces of an incomplete line."""
        self._data: list[bytes] = []
        """The data lines of an incomplete event."""
        self._buffered_bytes = 0
        self._ended_in_cr = False

    def feed(self, chunk: bytes) -> list[bytes]:
        """Decode a chunk; return the data of each event that it completes.

        Raises:
            OversizedEventError: The incomplete event is larger than the limit.
        """
        if not chunk:
            return []
        if self._ended_in_cr or b"\r" in chunk:
            chunk = self._normalize_newlines(chunk)
        complete, newline, partial = chunk.rpartition(b"\n")
        events: list[bytes] = []
        if newline:
            lines = b"".join((*self._line_pieces, complete)) if self._line_pieces else complete
            self._line_pieces.clear()
            events = [data for line in lines.split(b"\n") if (data := self._decode_line(line))]
            self._buffered_bytes = sum(map(len, self._data))
        if partial:
            self._line_pieces.append(partial)
            self._buffered_bytes += len(partial)
        if self._buffered_bytes > self._max_bytes:
            reason = f"an event of more than {self._max_bytes:,} bytes"
            raise OversizedEventError(reason)
        return events

    def _normalize_newlines(self, chunk: bytes) -> bytes:
        """Normalize all line endings of a chunk to newlines."""
        # A CRLF can be split between two chunks. Without this the LF would count as an empty line
        # and end the event too early.
        if self._ended_in_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._ended_in_cr = chunk.endswith(b"\r")
        return chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _decode_line(self, line: bytes) -> bytes:
        """Return the data of the event that an empty line ends; empty for any other line."""
        if line:
            name, _, value = line.partition(b":")
            if name == _DATA_FIELD:
                self._data.append(value.removeprefix(b" "))
            return b""
        data = self._data[0] if len(self._data) == 1 else b"\n".join(self._data)
        self._data.clear()
        return data


async def drain(chunks: AsyncIterator[bytes], failures: tuple[type[Exception], ...]) -> None:
    """Read the rest of the body for at most `DRAIN_SECONDS`, so that the connection is reusable."""
    with anyio.move_on_after(DRAIN_SECONDS), suppress(*failures):
        async for _ in chunks:
            pass
