"""Newline framing with a size limit. Pure: no JSON and no descriptors."""

from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
HEAD_BYTES = 4096


@frozen_dataclass
class OversizedLine:
    """A line above the limit: its first bytes, which may contain the id, and the limit."""

    head: bytes
    limit_bytes: int


Line = bytes | OversizedLine


class LineSplitter:
    """Incremental splitter of byte chunks into non-blank lines without their newline.

    Each byte is scanned once, however long the line is, and at most `limit_bytes` are buffered. An
    oversized line is reported as soon as it passes the limit; the rest of it is skipped.
    """

    def __init__(self, limit_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit_bytes
        self._buffer = bytearray()
        self._is_skipping = False

    def feed(self, chunk: bytes) -> list[Line]:
        """Consume the next bytes of the stream and return the lines they complete."""
        lines: list[Line] = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._buffer_part(chunk[start:end], lines)
            self._finish_line(lines)
            start = end + 1
        self._buffer_part(chunk[start:] if start else chunk, lines)
        return lines

    def finish(self) -> list[Line]:
        """Return the unterminated last line of a stream that has ended, if any."""
        lines: list[Line] = []
        self._finish_line(lines)
        return lines

    def _buffer_part(self, part: bytes, lines: list[Line]) -> None:
        if self._is_skipping:
            return
        self._buffer += part
        if len(self._buffer) > self._limit:
            # Report before the newline arrives: the sender may wait for the answer before it sends
            # the rest. Drop the buffer, or a hostile line would still grow it.
            lines.append(OversizedLine(bytes(self._buffer[:HEAD_BYTES]), self._limit))
            self._buffer = bytearray()
            self._is_skipping = True

    def _finish_line(self, lines: list[Line]) -> None:
        # Not a bare strip(): JSON whitespace only. Other control bytes must reach the parser and be
        # refused there.
        line = bytes(self._buffer).strip(b" \t\r")
        self._buffer = bytearray()
        self._is_skipping = False
        if line:
            lines.append(line)
