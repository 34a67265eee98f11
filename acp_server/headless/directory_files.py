"""File access for an agent, restricted to one directory.

Symlinks are followed, but their targets must be in the directory too. Only regular UTF-8 files.
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
_SAFE_OPEN_FLAGS = (
    getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
"""Guards the time between check and open: a swapped-in symlink or pipe fails to open."""


def ignore_written(path: Path) -> None:
    """Ignore a written file."""
    del path


class DirectoryFiles:
    """Handlers of `fs/read_text_file` and `fs/write_text_file` for one directory."""

    def __init__(
        self, directory: Path, on_written: Callable[[Path], None] = ignore_written
    ) -> None:
        """Offer a directory; `on_written` is called with each written path, as requested."""
        self._directory = directory
        self._on_written = on_written

    async def read(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        """Return the text of a file, or some lines of it.

        Raises:
            RpcError: The file does not exist, is not allowed, or is not UTF-8 text.
        """
        text = await to_thread.run_sync(self._read, request.path)
        return ReadTextFileResponse(content=_select_lines(text, request.line, request.limit))

    async def write(self, request: WriteTextFileRequest) -> WriteTextFileResponse:
        """Replace the whole text of a file; missing parent directories are created.

        Raises:
            RpcError: The file is not allowed, or cannot be written.
        """
        await to_thread.run_sync(self._write, request.path, request.content)
        self._on_written(Path(request.path))
        return WriteTextFileResponse()

    def _read(self, name: str) -> str:
        path = self._resolve_inside(name)
        try:
            with os.fdopen(os.open(path, _READ | _SAFE_OPEN_FLAGS), "rb") as file:
                return file.read().decode("utf-8")
        except FileNotFoundError:
            message = f"Resource not found: {name}"
            raise RpcError(RESOURCE_NOT_FOUND, message, {"details": name}) from None
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidParamsError(f"{name} cannot be read: {error}") from None

    def _write(self, name: str, text: str) -> None:
        path = self._resolve_inside(name)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with os.fdopen(os.open(path, _WRITE | _SAFE_OPEN_FLAGS, _NEW_FILE_MODE), "wb") as file:
                file.write(text.encode("utf-8"))
        except (OSError, UnicodeEncodeError) as error:
            raise InvalidParamsError(f"{name} cannot be written: {error}") from None

    def _resolve_inside(self, name: str) -> Path:
        """Resolve a path and check that it is inside the directory.

        Raises:
            InvalidParamsError: The target is outside, or exists and is not a regular file.
        """
        if not Path(name).is_absolute():
            raise InvalidParamsError(f"{name!r} is not absolute")
        try:
            folder, path = self._directory.resolve(), Path(name).resolve()
            is_taken = path.exists() and not path.is_file()
        except (OSError, RuntimeError, ValueError) as error:
            raise InvalidParamsError(f"{name!r} is no path: {error}") from None
        if path == folder or not path.is_relative_to(folder):
            raise InvalidParamsError(f"{name} lies outside of {self._directory}")
        if is_taken:
            raise InvalidParamsError(f"{name} is not a file")
        return path


def _select_lines(text: str, first_line: int | None, line_count: int | None) -> str:
    """Return `line_count` lines of a text from `first_line` on, counted from 1."""
    if first_line is None and line_count is None:
        return text
    begin = max(first_line or 1, 1) - 1
    lines = text.splitlines(keepends=True)
    return "".join(lines[begin:] if line_count is None else lines[begin : begin + line_count])
