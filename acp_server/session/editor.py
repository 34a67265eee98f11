"""What the tools of one session need of its editor.

Owns the shape of these calls, not how they travel. An editor says what it can do; a call that it
cannot answer is never made.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn, Protocol

from acp_server.frozen import frozen


class EditorError(Exception):
    """The editor refused a call, or is gone. `reason` is what it said, in one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@frozen
class Exit:
    """How a command ended: with a code, or by a signal such as `SIGKILL`."""

    code: int | None = None
    signal: str | None = None


@frozen
class Screenful:
    """What a terminal holds: its text, whether the beginning is lost, how its command ended."""

    text: str
    is_truncated: bool = False
    exit: Exit | None = None


@frozen
class Launch:
    """What a terminal is to run. `environment` is added to the editor's own."""

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    keep_bytes: int


class EditorTerminal(Protocol):
    """A command that runs in the editor, in the user's sight. Each is released, always."""

    @property
    def id(self) -> str:
        """What the editor calls it."""
        ...

    async def wait(self) -> Exit:
        """Wait until the command has ended."""
        ...

    async def output(self) -> Screenful:
        """Return what it has printed until now."""
        ...

    async def kill(self) -> None:
        """End the command; its output can still be had."""
        ...

    async def release(self) -> None:
        """Give the terminal back; it must not be used any more."""
        ...


class Editor(Protocol):
    """The editor, as far as the tools of one session use it. Every call raises EditorError."""

    @property
    def can_read(self) -> bool:
        """Whether files can be read through its buffers."""
        ...

    @property
    def can_write(self) -> bool:
        """Whether files can be written through its buffers, where it can offer a review."""
        ...

    @property
    def has_terminals(self) -> bool:
        """Whether it runs commands in terminals of its own."""
        ...

    @property
    def shows_output(self) -> bool:
        """Whether it shows the output of our commands as a live terminal."""
        ...

    async def read_text(self, path: Path) -> str:
        """Return the text of a file, unsaved changes included."""
        ...

    async def write_text(self, path: Path, text: str) -> None:
        """Make this the text of a file."""
        ...

    async def open_terminal(self, launch: Launch) -> EditorTerminal:
        """Start a command in a terminal."""
        ...


class NoEditor:
    """Nobody's editor: it can do nothing, so nothing is asked of it."""

    can_read = False
    can_write = False
    has_terminals = False
    shows_output = False

    async def read_text(self, path: Path) -> NoReturn:
        """Refuse."""
        del path
        raise EditorError(_NOBODY)

    async def write_text(self, path: Path, text: str) -> NoReturn:
        """Refuse."""
        del path, text
        raise EditorError(_NOBODY)

    async def open_terminal(self, launch: Launch) -> NoReturn:
        """Refuse."""
        del launch
        raise EditorError(_NOBODY)


_NOBODY = "there is no editor to ask"
