r"""Editors in memory, as far as files go: real files, buffers over them, habits of all kinds.

    editor = LineFeedEditor()
    await editor.write_text(path, "a\n")
    assert editor.calls == [("write", path)]

A buffer is opened by the first read or write and stays what it is: it is not loaded again when the
disk changes, unless `reload` is called. `type` is the user who types and does not save.

`FaithfulEditor` hands a text out as it is, and saves what it is given, mark included.
`PlainEditor` hands out `\n` without a mark, and saves with the file's own newlines and mark.
`LineFeedEditor` hands out `\n` without a mark, saves just that, into a new file of mode 0644.
`FormattingEditor` takes blanks off the ends of lines when it saves.
`UnsavingEditor` never saves. `BlindEditor` cannot read, `HandlessEditor` cannot write.
`RefusingEditor` refuses every call, `TornEditor` writes and then refuses, `HangingEditor` never
answers.
"""

from pathlib import Path
from typing import Literal, NoReturn

import anyio

from acp_server.session.editor import EditorError, EditorTerminal, Launch

BOM = "\ufeff"

Call = tuple[Literal["read", "write"], Path]


class FaithfulEditor:
    """Takes and gives texts as they are."""

    can_read = True
    can_write = True
    has_terminals = False
    shows_output = False

    def __init__(self) -> None:
        self.buffers: dict[Path, str] = {}
        self.calls: list[Call] = []

    def type(self, path: Path, text: str) -> None:
        """Change a buffer, as a user who does not save."""
        self.buffers[path] = text

    def reload(self, path: Path) -> None:
        """Show again what the disk holds."""
        self.buffers.pop(path, None)

    async def read_text(self, path: Path) -> str:
        """Return the buffer of a file, opened if need be."""
        self.calls.append(("read", path))
        if path not in self.buffers:
            self.buffers[path] = self.opened(_loaded(path))
        return self.buffers[path]

    async def write_text(self, path: Path, text: str) -> None:
        """Make this the buffer of a file, and save it."""
        self.calls.append(("write", path))
        self.buffers[path] = text
        self.save(path, text)

    async def open_terminal(self, launch: Launch) -> EditorTerminal:
        """Refuse."""
        del launch
        raise EditorError("this editor has no terminals")

    def opened(self, text: str) -> str:
        """Return what a buffer shows of a file's text."""
        return text

    def save(self, path: Path, text: str) -> None:
        """Write a buffer to the disk."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


class PlainEditor(FaithfulEditor):
    r"""Shows `\n` only; knows what the file had when it saves."""

    def opened(self, text: str) -> str:
        return _plain(text)

    def save(self, path: Path, text: str) -> None:
        old = path.read_bytes().decode() if path.exists() else ""
        ending = next((end for end in ("\r\n", "\r") if end in old), "\n")
        mark = BOM if old.startswith(BOM) else ""
        super().save(path, mark + _plain(text).replace("\n", ending))


class LineFeedEditor(FaithfulEditor):
    r"""Shows `\n` only, and saves just that, in place of the old file."""

    def opened(self, text: str) -> str:
        return _plain(text)

    def save(self, path: Path, text: str) -> None:
        path.unlink(missing_ok=True)
        super().save(path, _plain(text))
        path.chmod(0o644)


class FormattingEditor(PlainEditor):
    """Formats what it saves."""

    def save(self, path: Path, text: str) -> None:
        self.buffers[path] = "\n".join(line.rstrip() for line in text.split("\n"))
        FaithfulEditor.save(self, path, self.buffers[path])


class UnsavingEditor(PlainEditor):
    """Leaves saving to the user."""

    def save(self, path: Path, text: str) -> None:
        pass


class BlindEditor(PlainEditor):
    """Cannot read."""

    can_read = False


class HandlessEditor(PlainEditor):
    """Cannot write."""

    can_write = False


class RefusingEditor(FaithfulEditor):
    """Refuses everything."""

    async def read_text(self, path: Path) -> NoReturn:
        self.calls.append(("read", path))
        raise EditorError("no such buffer")

    async def write_text(self, path: Path, text: str) -> NoReturn:
        del text
        self.calls.append(("write", path))
        raise EditorError("the user has locked the file")


class TornEditor(FaithfulEditor):
    """Writes, and says that it did not."""

    async def write_text(self, path: Path, text: str) -> NoReturn:
        await super().write_text(path, text)
        raise EditorError("the window was closed")


class HangingEditor(FaithfulEditor):
    """Never answers."""

    async def read_text(self, path: Path) -> NoReturn:
        self.calls.append(("read", path))
        await anyio.sleep_forever()
        raise AssertionError

    async def write_text(self, path: Path, text: str) -> NoReturn:
        del text
        self.calls.append(("write", path))
        await anyio.sleep_forever()
        raise AssertionError


def _loaded(path: Path) -> str:
    try:
        return path.read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise EditorError(str(error)) from None


def _plain(text: str) -> str:
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")
