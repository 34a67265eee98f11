"""What can be wrong with a file, in words for the model.

FileError
  InvalidPathError        no path at all: empty, a NUL in it, a name too long
  MissingFileError        no such file; names some that are alike
  FolderError             a folder where a file is meant; lists it
  UnreadableError         there, but not to be read: no permission, a pipe, a device
  BinaryFileError         not text; says what it is
  HugeFileError           too large to be read or written whole
  EncodingError           the text has a character that the file's encoding lacks
  ReadOnlyError           the file is protected against writing
  ExistsError             something is where a file is to be moved
  ChangedMeanwhileError   not what it was when it was read
  UnwritableError         the system refused to write, delete or move it
  EditorWriteError        the editor refused to write it, or did not answer

Every reason says what is wrong and, where something can be done, what.
"""

from collections.abc import Sequence


class FileError(Exception):
    """A file cannot be used as asked. `reason` is for the model, one or two sentences."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class InvalidPathError(FileError):
    """What was given cannot be a path."""


class MissingFileError(FileError):
    """There is no such file. `similar` are files that may be meant."""

    def __init__(self, name: str, similar: Sequence[str]) -> None:
        hint = f"; similar files: {', '.join(similar)}" if similar else ""
        super().__init__(f"{name} does not exist{hint}")
        self.similar = tuple(similar)


class FolderError(FileError):
    """It is a folder. `entries` are the first of `count`, folders with a slash."""

    def __init__(self, name: str, entries: Sequence[str], count: int) -> None:
        more = f" and {count - len(entries)} more" if count > len(entries) else ""
        holds = f"it holds {', '.join(entries)}{more}" if entries else "it is empty"
        super().__init__(f"{name} is a folder; {holds}")
        self.entries = tuple(entries)
        self.count = count


class UnreadableError(FileError):
    """It exists, and must or can not be read."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} cannot be read: {why}")


class BinaryFileError(FileError):
    """It is not text. `kind` is what it looks like, with an article."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(f"{name} is {kind}, not text; use a command that knows the format")
        self.kind = kind


class HugeFileError(FileError):
    """It is too large. `size_bytes` is how large."""

    def __init__(self, name: str, size_bytes: int, advice: str) -> None:
        size = f"{size_bytes / 1_000_000:.1f} MB"
        super().__init__(f"{name} has {size}, too much at once; {advice}")
        self.size_bytes = size_bytes


class EncodingError(FileError):
    """The file's encoding has no such character. `line` counts from 1."""

    def __init__(self, name: str, encoding: str, character: str, line: int) -> None:
        shown = character if character.isprintable() else "the control or half character"
        super().__init__(
            f"{name} is encoded in {encoding}, which lacks {shown} (U+{ord(character):04X}) "
            f"of line {line}; write it another way, or convert the file first"
        )
        self.character = character
        self.line = line


class ReadOnlyError(FileError):
    """The file must not be written."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is read-only; ask the user before you make it writable")


class ExistsError(FileError):
    """The place is taken."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} exists already; delete it first or choose another name")


class ChangedMeanwhileError(FileError):
    """The file is not what the change was made for."""

    def __init__(self, name: str, how: str) -> None:
        super().__init__(f"{name} changed meanwhile: {how}; read it again and redo the change")


class UnwritableError(FileError):
    """The system refused."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} cannot be written: {why}")


class EditorWriteError(FileError):
    """The editor did not do it. `has_changed` tells whether the disk changed all the same."""

    def __init__(self, name: str, why: str, *, has_changed: bool) -> None:
        outcome = "has changed all the same; read it again" if has_changed else "is as it was"
        super().__init__(f"the editor did not write {name}: {why}; the file on disk {outcome}")
        self.has_changed = has_changed
