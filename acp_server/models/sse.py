"""Reads server-sent events: bytes in, the data of complete events out.

Used for all API formats; knows `text/event-stream` framing and not the payload. Buffers at most
one incomplete event, up to a size limit.
Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
"""

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import suppress
from typing import Protocol

import anyio

from acp_server.turn.ports import ModelEvent, ModelStop, ReceiveEvent

MAX_EVENT_BYTES = 32 * 1024 * 1024
DRAIN_SECONDS = 0.2
"""How long to wait for the end of the body after the answer is complete."""
TRAILING_USAGE_SECONDS = 2.0
"""How long to wait for the usage, which may follow the stop reason of an answer."""
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
            for line in lines.split(b"\n"):
                if line:
                    name, _, value = line.partition(b":")
                    if name == _DATA_FIELD:
                        self._data.append(value.removeprefix(b" "))
                else:  # an empty line ends the event
                    if data := b"\n".join(self._data):
                        events.append(data)
                    self._data.clear()
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


class StreamedAnswer(Protocol):
    """State of an answer that is being streamed."""

    @property
    def stop(self) -> ModelStop | None:
        """The stop reason; None until it has arrived."""
        ...

    @property
    def is_closed(self) -> bool:
        """Whether the answer is complete."""
        ...

    @property
    def has_content(self) -> bool:
        """Whether any content was passed on; the user may have seen it."""
        ...


async def forward_events(
    chunks: AsyncIterator[bytes],
    answer: StreamedAnswer,
    translate: Callable[[bytes], Iterable[ModelEvent]],
    receive: ReceiveEvent,
    errors: tuple[type[Exception], ...],
) -> Exception | None:
    """Translate the events of a body and pass them on, up to the end of the answer.

    Return the one of `errors` that ended it early, if any; errors of `receive` are raised.
    """
    decoder = SseDecoder()
    while not answer.is_closed:
        try:
            if answer.stop is None:
                chunk = await anext(chunks)
            else:
                # Only usage may follow, and some endpoints keep the stream open without sending it.
                with anyio.fail_after(TRAILING_USAGE_SECONDS):
                    chunk = await anext(chunks)
            events = decoder.feed(chunk)
        except (StopAsyncIteration, TimeoutError):
            return None
        except errors as error:
            return error
        for event in events:
            try:
                model_events = tuple(translate(event))
            except errors as error:
                return error
            for each in model_events:
                await receive(each)
            if answer.is_closed:
                break
    # Read the rest of the body for a moment, so that the connection is reusable.
    with anyio.move_on_after(DRAIN_SECONDS), suppress(*errors):
        async for _ in chunks:
            pass
    return None
