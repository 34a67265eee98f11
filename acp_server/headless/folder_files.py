"""The files of one folder, as a client offers them to an agent: read and written, never outside.

Links are followed, and what they lead to must lie in the folder too. Only plain files in UTF-8.
"""

import os
from collections.abc import Callable
from pathlib import Path

from anyio import to_thread

from acp_server.handlers.errors import RESOURCE_NOT_FOUND
from acp_server.jsonrpc.errors import InvalidParamsError, RpcError
from acp_server.protocol.files import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)

_NEW_FILE_MODE = 0o666
_READ = os.O_RDONLY
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_STAY = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""No link and no pipe that was put there meanwhile is followed or waited for."""


def note_nothing(path: Path) -> None:
    """Take no note of a file that was written."""
    del path


class FolderFiles:
    """Answers `fs/read_text_file` and `fs/write_text_file` for one folder."""

    def __init__(self, folder: Path, note_written: Callable[[Path], None] = note_nothing) -> None:
        """Offer a folder; `note_written` is told of each file, by the path that the agent gave."""
        self._folder = folder
        self._note_written = note_written

    async def read(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        """Return the text of a file, or some lines of it.

        Raises:
            RpcError: there is no such file, it may not be read, or holds no text.
        """
        text = await to_thread.run_sync(self._read, request.path)
        return ReadTextFileResponse(content=_part(text, request.line, request.limit))

    async def write(self, request: WriteTextFileRequest) -> WriteTextFileResponse:
        """Make this the whole text of a file; folders are made.

        Raises:
            RpcError: it may not be written, or cannot be.
        """
        await to_thread.run_sync(self._write, request.path, request.content)
        self._note_written(Path(request.path))
        return WriteTextFileResponse()

    def _read(self, given: str) -> str:
        path = self._inside(given)
        try:
            with os.fdopen(os.open(path, _READ | _STAY), "rb") as file:
                return file.read().decode("utf-8")
        except FileNotFoundError:
            raise RpcError(RESOURCE_NOT_FOUND, "Resource not found", {"message": given}) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidParamsError(f"{given} cannot be read: {error}") from None

    def _write(self, given: str, text: str) -> None:
        path = self._inside(given)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, _WRITE | _STAY, _NEW_FILE_MODE), "wb") as file:
                file.write(text.encode("utf-8"))
        except (OSError, UnicodeEncodeError) as error:
            raise InvalidParamsError(f"{given} cannot be written: {error}") from None

    def _inside(self, given: str) -> Path:
        """Return where a path leads, all links followed.

        Raises:
            InvalidParamsError: that is not a plain file in the folder, or a place for one.
        """
        if not Path(given).is_absolute():
            raise InvalidParamsError(f"{given!r} is not absolute")
        try:
            folder, path = self._folder.resolve(), Path(given).resolve()
            is_taken = path.exists() and not path.is_file()
        except (OSError, RuntimeError, ValueError) as error:
            raise InvalidParamsError(f"{given!r} is no path: {error}") from None
        if path == folder or not path.is_relative_to(folder):
            raise InvalidParamsError(f"{given} lies outside of {self._folder}")
        if is_taken:
            raise InvalidParamsError(f"{given} is not a file")
        return path


def _part(text: str, first_line: int | None, line_count: int | None) -> str:
    """Return lines of a text; the first is 1."""
    if first_line is None and line_count is None:
        return text
    begin = max(first_line or 1, 1) - 1
    lines = text.splitlines(keepends=True)
    return "".join(lines[begin:] if line_count is None else lines[begin : begin + line_count])
