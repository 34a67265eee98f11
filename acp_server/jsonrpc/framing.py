"""Bytes become lines: newline framing with a size cap. Pure; knows no JSON and no descriptor."""

from acp_server.frozen import frozen

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
HEAD_BYTES = 4096


@frozen
class Oversized:
    """A line longer than the cap: its first bytes (the id may stand there) and the cap."""

    head: bytes
    limit_bytes: int


Line = bytes | Oversized


class LineSplitter:
    """Collects chunks and gives out whole lines, without their newline and without blank ones.

    Every byte is looked at once, however long the line is, and at most `limit_bytes` are held. An
    oversized line is reported the moment it passes the cap; the rest of it is skipped.
    """

    def __init__(self, limit_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._limit = limit_bytes
        self._held = bytearray()
        self._skipping = False

    def feed(self, chunk: bytes) -> list[Line]:
        """Take the next bytes of the stream; return the lines that they complete."""
        lines: list[Line] = []
        start = 0
        while (end := chunk.find(b"\n", start)) >= 0:
            self._hold(chunk[start:end], lines)
            self._finish_line(lines)
            start = end + 1
        self._hold(chunk[start:] if start else chunk, lines)
        return lines

    def finish(self) -> list[Line]:
        """Return the unterminated last line of a stream that has ended, if there is one."""
        lines: list[Line] = []
        self._finish_line(lines)
        return lines

    def _hold(self, part: bytes, lines: list[Line]) -> None:
        if self._skipping:
            return
        self._held += part
        if len(self._held) > self._limit:
            lines.append(Oversized(bytes(self._held[:HEAD_BYTES]), self._limit))
            self._held = bytearray()
            self._skipping = True

    def _finish_line(self, lines: list[Line]) -> None:
        line = bytes(self._held).strip(b" \t\r")
        self._held = bytearray()
        self._skipping = False
        if line:
            lines.append(line)
