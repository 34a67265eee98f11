"""The editor port: editor features that the tools of one session use.

Defines the calls, not their transport. The editor declares its capabilities; a call that it does
not support is never made.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from acp_server.startup.fast_dataclass import frozen_dataclass

SymbolAction = Literal["outline", "definition", "references", "rename"]


class EditorError(Exception):
    """The editor rejected a call or has disconnected. `reason` is its message in one line."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class EditorAnswerError(EditorError):
    """The editor's answer to a request does not follow the protocol."""


@frozen_dataclass
class TerminalExit:
    """How a command ended: with an exit code, or by a signal such as `SIGKILL`."""

    code: int | None = None
    signal: str | None = None


@frozen_dataclass
class TerminalOutput:
    """A terminal's text, whether its beginning was dropped, and how its command ended."""

    text: str
    is_truncated: bool = False
    exit: TerminalExit | None = None


@frozen_dataclass
class TerminalCommand:
    """The command that a terminal runs. `environment` is added to the editor's own."""

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    output_limit_bytes: int
    call_id: str = ""
    """The call that runs it."""


@frozen_dataclass
class SymbolQuery:
    """A question to the editor's language features.

    `path` is the absolute path of a file, or None: then the name is looked up in the workspace.
    """

    action: SymbolAction
    path: Path | None
    name: str = ""
    new_name: str = ""


@frozen_dataclass
class EditorSymbol:
    """A symbol that the editor knows. Lines are counted from 1."""

    name: str
    kind: str
    containers: tuple[str, ...]
    path: Path
    line: int
    end_line: int
    name_line: int


@frozen_dataclass
class EditorTextPlace:
    """A range of a file. Lines are counted from 1, columns from 0 in UTF-16 units."""

    path: Path
    line: int
    column: int
    end_line: int
    end_column: int
    new_text: str = ""
    """In the answer to a rename: the text that replaces it."""


@frozen_dataclass
class EditorSymbols:
    """The editor's answer; nothing, if it has no language features for that."""

    symbols: tuple[EditorSymbol, ...] = ()
    """The symbols asked for, or those that a name may mean if it is not clear which."""
    places: tuple[EditorTextPlace, ...] = ()
    """The references, or what a rename replaces."""


class EditorTerminal(Protocol):
    """A command running in an editor terminal, visible to the user. Must always be released."""

    @property
    def id(self) -> str:
        """The editor's id for the terminal."""
        ...

    async def wait(self) -> TerminalExit:
        """Wait for the command to end."""
        ...

    async def output(self) -> TerminalOutput:
        """Return the output so far."""
        ...

    async def kill(self) -> None:
        """Kill the command; its output stays readable."""
        ...

    async def release(self) -> None:
        """Release the terminal; it must not be used afterwards."""
        ...


class EditorPort(Protocol):
    """The editor as the tools of one session use it. Every call may raise EditorError."""

    @property
    def can_read(self) -> bool:
        """Whether files can be read through the editor's buffers."""
        ...

    @property
    def can_write(self) -> bool:
        """Whether files can be written through the editor's buffers, where the user may review."""
        ...

    @property
    def has_terminals(self) -> bool:
        """Whether the editor can run commands in its own terminals."""
        ...

    @property
    def shows_output(self) -> bool:
        """Whether the editor renders the output of our commands as a live terminal."""
        ...

    @property
    def has_symbols(self) -> bool:
        """Whether the editor's language features can be asked."""
        ...

    async def find_symbols(self, query: SymbolQuery) -> EditorSymbols:
        """Return what the editor's language features know."""
        ...

    async def read_text(self, path: Path) -> str:
        """Return the text of a file, including unsaved changes."""
        ...

    async def write_text(self, path: Path, text: str) -> None:
        """Replace the text of a file."""
        ...

    async def open_terminal(self, command_spec: TerminalCommand) -> EditorTerminal:
        """Start a command in a terminal."""
        ...


class NoEditor:
    """An editor that does nothing, for files that no editor shows."""

    can_read = can_write = has_terminals = shows_output = has_symbols = False

    async def find_symbols(self, query: SymbolQuery) -> EditorSymbols:
        """Refuse.

        Raises:
            EditorError: always.
        """
        del query
        raise EditorError("there is no editor")

    async def read_text(self, path: Path) -> str:
        """Refuse.

        Raises:
            EditorError: always.
        """
        raise EditorError(f"no editor shows {path}")

    async def write_text(self, path: Path, text: str) -> None:
        """Refuse.

        Raises:
            EditorError: always.
        """
        del text
        raise EditorError(f"no editor shows {path}")

    async def open_terminal(self, command_spec: TerminalCommand) -> EditorTerminal:
        """Refuse.

        Raises:
            EditorError: always.
        """
        del command_spec
        raise EditorError("there is no editor")
