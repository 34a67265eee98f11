"""What a patch says, as values: which files change and how. Knows no syntax and no text."""

from dataclasses import dataclass
from typing import Literal

Sign = Literal[" ", "-", "+"]


@dataclass(frozen=True, slots=True)
class HunkLine:
    """A line that stays, goes or comes; without its line end."""

    sign: Sign
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """One connected change. `headings` lead to it, the outermost first.

    `line_hint` is the line a unified diff gives for the old file, from 1; it is often wrong.
    """

    lines: tuple[HunkLine, ...]
    headings: tuple[str, ...] = ()
    is_at_end: bool = False
    line_hint: int | None = None

    @property
    def old_lines(self) -> tuple[str, ...]:
        """The lines that are there before."""
        return tuple(line.text for line in self.lines if line.sign != "+")

    @property
    def new_lines(self) -> tuple[str, ...]:
        """The lines that are there afterwards."""
        return tuple(line.text for line in self.lines if line.sign != "-")


@dataclass(frozen=True, slots=True)
class AddFile:
    """A file that is to be made; every line of its text is ended."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """A file that is to be changed, moved, or both."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """A file that is to be removed."""

    path: str


FileChange = AddFile | UpdateFile | DeleteFile


def joined(lines: tuple[str, ...]) -> str:
    """Return lines as a text in which each is ended."""
    return "".join(f"{line}\n" for line in lines)
