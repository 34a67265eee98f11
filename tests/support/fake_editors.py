r"""Fake editors for file access: buffers over real files, with different saving behaviour.

    editor = LineFeedEditor()
    await editor.write_text(path, "a\n")
    assert editor.calls == [("write", path)]

The first read or write of a file opens its buffer. A buffer is not reloaded when the file changes
on disk, unless `reload` is called. `type_text` plays a user who types and does not save.

`VerbatimEditor` returns and saves texts unchanged, byte order mark included.
`NewlineKeepingEditor` returns `\n` without a BOM, and saves with the file's newlines and BOM.
`LineFeedEditor` returns `\n` without a BOM and saves exactly that, into a new file of mode 0644.
`FormattingEditor` strips trailing whitespace when it saves.
`NonSavingEditor` never saves. `WriteOnlyEditor` cannot read, `ReadOnlyEditor` cannot write.
`RefusingEditor` refuses every call, `FailAfterWriteEditor` writes and then reports an error,
`HangingEditor` never answers, and `NullEditor` can do nothing.
"""

from pathlib import Path
from typing import Literal, NoReturn

import anyio

from acp_server.session.ports.editor import (
    EditorError,
    EditorSymbols,
    EditorTerminal,
    SymbolQuery,
    TerminalCommand,
)

BOM = "\ufeff"

NO_EDITOR = "there is no editor to ask"

EditorCall = tuple[Literal["read", "write"], Path]


class NullEditor:
    """An editor without capabilities, for sessions that have none connected."""

    can_read = False
    can_write = False
    has_terminals = False
    shows_output = False
    has_symbols = False

    async def find_symbols(self, query: SymbolQuery) -> NoReturn:
        """Raise EditorError."""
        del query
        raise EditorError(NO_EDITOR)

    async def read_text(self, path: Path) -> NoReturn:
        """Raise EditorError."""
        del path
        raise EditorError(NO_EDITOR)

    async def write_text(self, path: Path, text: str) -> NoReturn:
        """Raise EditorError."""
        del path, text
        raise EditorError(NO_EDITOR)

    async def open_terminal(self, command_spec: TerminalCommand) -> NoReturn:
        """Raise EditorError."""
        del command_spec
        raise EditorError(NO_EDITOR)


class VerbatimEditor:
    """Editor that returns and saves texts unchanged."""

    can_read = True
    can_write = True
    has_terminals = False
    shows_output = False
    has_symbols = False

    def __init__(self) -> None:
        self.buffers: dict[Path, str] = {}
        self.calls: list[EditorCall] = []

    def type_text(self, path: Path, text: str) -> None:
        """Change a buffer without saving it."""
        self.buffers[path] = text

    def reload(self, path: Path) -> None:
        """Discard the buffer, so that the next read loads the file."""
        self.buffers.pop(path, None)

    async def read_text(self, path: Path) -> str:
        """Return the buffer of a file, opening it first if necessary."""
        self.calls.append(("read", path))
        if path not in self.buffers:
            self.buffers[path] = self.to_buffer_text(_load_text(path))
        return self.buffers[path]

    async def write_text(self, path: Path, text: str) -> None:
        """Set the buffer of a file and save it."""
        self.calls.append(("write", path))
        self.buffers[path] = text
        self.save(path, text)

    async def find_symbols(self, query: SymbolQuery) -> EditorSymbols:
        """Know nothing."""
        del query
        return EditorSymbols()

    async def open_terminal(self, command_spec: TerminalCommand) -> EditorTerminal:
        """Refuse: the fakes have no terminals."""
        del command_spec
        raise EditorError("this editor has no terminals")

    def to_buffer_text(self, text: str) -> str:
        """Return the buffer text for a file's text."""
        return text

    def save(self, path: Path, text: str) -> None:
        """Write a buffer to disk."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


class NewlineKeepingEditor(VerbatimEditor):
    r"""Editor that shows only `\n` and restores the file's newlines and BOM when it saves."""

    def to_buffer_text(self, text: str) -> str:
        return _normalize_newlines(text)

    def save(self, path: Path, text: str) -> None:
        old = path.read_bytes().decode() if path.exists() else ""
        ending = next((end for end in ("\r\n", "\r") if end in old), "\n")
        mark = BOM if old.startswith(BOM) else ""
        super().save(path, mark + _normalize_newlines(text).replace("\n", ending))


class LineFeedEditor(VerbatimEditor):
    r"""Editor that shows and saves only `\n`, into a new file that replaces the old one."""

    def to_buffer_text(self, text: str) -> str:
        return _normalize_newlines(text)

    def save(self, path: Path, text: str) -> None:
        path.unlink(missing_ok=True)
        super().save(path, _normalize_newlines(text))
        path.chmod(0o644)


class FormattingEditor(NewlineKeepingEditor):
    """Editor that strips trailing whitespace when it saves."""

    def save(self, path: Path, text: str) -> None:
        self.buffers[path] = "\n".join(line.rstrip() for line in text.split("\n"))
        VerbatimEditor.save(self, path, self.buffers[path])


class NonSavingEditor(NewlineKeepingEditor):
    """Editor that changes the buffer but never saves."""

    def save(self, path: Path, text: str) -> None:
        pass


class WriteOnlyEditor(NewlineKeepingEditor):
    """Editor that cannot read files."""

    can_read = False


class ReadOnlyEditor(NewlineKeepingEditor):
    """Editor that cannot write files."""

    can_write = False


class RefusingEditor(VerbatimEditor):
    """Editor that answers every request with an error."""

    async def read_text(self, path: Path) -> NoReturn:
        self.calls.append(("read", path))
        raise EditorError("no such buffer")

    async def write_text(self, path: Path, text: str) -> NoReturn:
        del text
        self.calls.append(("write", path))
        raise EditorError("the user has locked the file")


class FailAfterWriteEditor(VerbatimEditor):
    """Editor that writes the file and then reports an error."""

    async def write_text(self, path: Path, text: str) -> NoReturn:
        await super().write_text(path, text)
        raise EditorError("the window was closed")


class HangingEditor(VerbatimEditor):
    """Editor that never answers."""

    async def read_text(self, path: Path) -> NoReturn:
        self.calls.append(("read", path))
        await anyio.sleep_forever()
        raise AssertionError

    async def write_text(self, path: Path, text: str) -> NoReturn:
        del text
        self.calls.append(("write", path))
        await anyio.sleep_forever()
        raise AssertionError


def _load_text(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise EditorError(str(error)) from None


def _normalize_newlines(text: str) -> str:
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")
