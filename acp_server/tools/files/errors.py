"""Errors of file access, with reasons worded for the model.

FileError
  InvalidPathError          not a path: empty, contains a NUL, a name is too long
  NoSuchFileError           the file does not exist; suggests similar names
  PathIsDirectoryError      a directory instead of a file; lists its entries
  FileNotReadableError      exists but cannot be read: no permission, a pipe, a device
  BinaryFileError           not text; names the file type
  HugeFileError             too large to be read or written in one piece
  EncodingError             the text has a character that the file's encoding lacks
  ReadOnlyFileError         the file's mode or the system forbids writing
  FileAlreadyExistsError    there is already a file at the new path
  FileChangedError          the file has changed since it was read
  UnseenTextError           the model has not seen all of the text that it would replace
  FileNotWritableError      the system failed to write, delete or move it
  EditorWriteError          the editor refused to write it, or did not answer

Every reason says what is wrong and, if something can be done about it, how to continue.
"""

from collections.abc import Sequence

from acp_server.tools.errors import ToolError


class FileError(ToolError):
    """Base class of file errors."""


class InvalidPathError(FileError):
    """The given name cannot be a path."""


class NoSuchFileError(FileError):
    """The file does not exist. `similar` are files that may have been meant."""

    def __init__(self, name: str, similar: Sequence[str]) -> None:
        hint = f"; similar files: {', '.join(similar)}" if similar else ""
        super().__init__(f"{name} does not exist{hint}")
        self.similar = tuple(similar)


MAX_NAMED_ENTRIES = 50


class PathIsDirectoryError(FileError):
    """The path is a directory. `entries` are the first of `count`, directories with a slash."""

    def __init__(self, name: str, entries: Sequence[str], count: int) -> None:
        named = entries[:MAX_NAMED_ENTRIES]
        more = f" and {count - len(named)} more" if count > len(named) else ""
        contents = f"it holds {', '.join(named)}{more}" if named else "it is empty"
        super().__init__(f"{name} is a folder; {contents}")
        self.entries = tuple(entries)
        self.count = count


class FileNotReadableError(FileError):
    """The file exists but cannot or must not be read."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"{name} cannot be read: {cause}")


class BinaryFileError(FileError):
    """The file is not text. `kind` is its probable type, with an article."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"{name} is {kind}, not text; use a command that knows the format")
        self.kind = kind


class HugeFileError(FileError):
    """The file is too large. `size_bytes` is its size."""

    def __init__(self, name: str, size_bytes: int, advice: str) -> None:
        size = f"{size_bytes / 1_000_000:.1f} MB"
        super().__init__(f"{name} has {size}, too much at once; {advice}")
        self.size_bytes = size_bytes


class EncodingError(FileError):
    """The file's encoding lacks a character of the text. `line` counts from 1."""

    def __init__(self, name: str, encoding: str, character: str, line: int) -> None:
        shown = character if character.isprintable() else "the control or half character"
        super().__init__(
            f"{name} is encoded in {encoding}, which lacks {shown} (U+{ord(character):04X}) "
            f"of line {line}; write it another way, or convert the file first"
        )
        self.character = character
        self.line = line


class ReadOnlyFileError(FileError):
    """The file is read-only."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is read-only; ask the user before you make it writable")


class FileAlreadyExistsError(FileError):
    """There is already a file at the path."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} exists already; delete it first or choose another name")


class FileChangedError(FileError):
    """The file has changed since it was read, so the planned change does not apply."""

    def __init__(self, name: str, change: str) -> None:
        super().__init__(f"{name} changed meanwhile: {change}; read it again and redo the change")


class UnseenTextError(FileError):
    """The file holds text that the model has not seen, and would lose it."""


class FileNotWritableError(FileError):
    """The system failed to write, delete or move the file."""

    def __init__(self, name: str, cause: str) -> None:
        super().__init__(f"{name} cannot be written: {cause}")


class EditorWriteError(FileError):
    """The editor did not write the file. `has_changed`: whether the disk changed nevertheless."""

    def __init__(self, name: str, cause: str, *, has_changed: bool) -> None:
        outcome = "has changed all the same; read it again" if has_changed else "is as it was"
        super().__init__(f"the editor did not write {name}: {cause}; the file on disk {outcome}")
        self.has_changed = has_changed
