"""File with the whole output of a command that is too long for memory, written as it comes."""

import logging
import os
from io import FileIO
from pathlib import Path

from acp_server.session.saved_outputs import MAX_FILE_CHARACTERS, SavedOutputs, describe_file
from acp_server.tools.shell.output import decode_utf8, render_for_model

logger = logging.getLogger(__name__)

FLUSH_BYTES = 64 * 1024
"""Output is written in pieces of at least this size, and of whole lines."""
_MARKS = (b"\x1b", b"\r", b"\xc2\x9b")
"""Bytes without which there is nothing to render."""


class SpillFile:
    """File with a command's output as the model would see it; created with the first piece.

    Nothing is held open between the pieces, so nothing has to be closed. Each piece is a short
    write into the system's cache.
    """

    def __init__(self, outputs: SavedOutputs, call_id: str) -> None:
        self._outputs = outputs
        self._call_id = call_id
        self._path: Path | None = None
        self._is_full = False
        """Whether no more can be written: the file or the disk is full."""
        self._pending = bytearray()
        self._written_bytes = 0
        self._omitted_bytes = 0
        self.characters = 0
        self.lines = 0

    def write(self, data: bytes | bytearray) -> None:
        """Take a piece of the output."""
        self._pending += data
        if len(self._pending) >= FLUSH_BYTES:
            # Whole lines, so that what was overwritten on a line can be removed; but an endless
            # line must not fill the memory.
            end = self._pending.rfind(b"\n") + 1
            self._flush(end or len(self._pending))

    def path(self) -> str:
        """Write what is pending; return the path of the file, empty if it could not be written."""
        if self._pending:
            self._flush(len(self._pending))
        return "" if self._path is None else str(self._path)

    def describe(self) -> str:
        """Return the file's name and size for the model; empty if it could not be written."""
        path = self.path()
        if not path:
            return ""
        cut = f", without the last {self._omitted_bytes:,} bytes" if self._omitted_bytes else ""
        return describe_file(path, self.lines) + cut

    def _flush(self, end: int) -> None:
        piece = bytes(self._pending[:end])
        del self._pending[:end]
        if any(mark in piece for mark in _MARKS):
            text = decode_utf8(piece)
            piece = render_for_model(text, len(text)).encode("utf-8", "replace")
        self.characters += len(decode_utf8(piece))
        self._is_full |= self._written_bytes + len(piece) > MAX_FILE_CHARACTERS
        if self._is_full or not self._append(piece):
            # Of what comes later nothing is written either: the file has no gap.
            self._is_full = True
            self._omitted_bytes += len(piece)
            return
        self.lines += piece.count(b"\n")
        self._written_bytes += len(piece)

    def _append(self, piece: bytes) -> bool:
        """Write a piece; return False if that is impossible, as on a full disk."""
        try:
            if self._path is None:
                self._path = self._outputs.create(self._call_id, piece, MAX_FILE_CHARACTERS)
                return True
            flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW
            with os.fdopen(os.open(self._path, flags), "wb", buffering=0) as file:
                try:
                    _write_all(file, piece)
                except OSError:
                    file.truncate(self._written_bytes)
                    raise
        except OSError as error:
            logger.warning("cannot save a long output: %s", error)
            return False
        return True


def _write_all(file: FileIO, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[file.write(view) :]
