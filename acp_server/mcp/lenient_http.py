"""Repairs the messages in HTTP responses before the SDK parses them.

Its parser rejects a whole message for one value in it; see `lenient_messages`.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator

import httpx2

from acp_server.mcp.lenient_messages import repair_message

MAX_EVENT_LINE_BYTES = 64 * 1024 * 1024
"""Longer lines of an event stream are passed on as they are; the SDK limits its events."""
_DATA = b"data:"


def repair_stream(response: httpx2.Response) -> None:
    """Let the response's messages be repaired while its body is read."""
    stream = response.stream
    encoding = response.headers.get("content-encoding", "identity")
    if encoding != "identity" or not isinstance(stream, httpx2.AsyncByteStream):
        return
    content_type = response.headers.get("content-type", "").lower()
    if content_type.startswith("application/json"):
        response.stream = _RepairedStream(stream, _repair_body(stream))
    elif content_type.startswith("text/event-stream"):
        response.stream = _RepairedStream(stream, _repair_events(stream))


class _RepairedStream(httpx2.AsyncByteStream):
    """Byte stream with other bytes than the one that it closes."""

    def __init__(self, stream: httpx2.AsyncByteStream, repaired: AsyncIterator[bytes]) -> None:
        self._stream = stream
        self._repaired = repaired

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._repaired

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _repair_body(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    yield repair_message(b"".join([chunk async for chunk in chunks]))


async def _repair_events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[bytes]:
    line = bytearray()
    is_too_long = False
    async for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for each in ended:
            line += each
            yield (bytes(line) if is_too_long else _repair_line(bytes(line))) + b"\n"
            line.clear()
            is_too_long = False
        line += rest
        if is_too_long or len(line) > MAX_EVENT_LINE_BYTES:
            is_too_long = True
            yield bytes(line)
            line.clear()
    if line:
        yield bytes(line)


def _repair_line(line: bytes) -> bytes:
    """Return a line of an event; a message in several lines stays as it is."""
    if not line.startswith(_DATA):
        return line
    return _DATA + b" " + repair_message(line.removeprefix(_DATA).strip())
