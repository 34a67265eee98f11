"""Changes that a patch describes, as values. Independent of syntax and file contents."""

from dataclasses import dataclass
from typing import Literal

Sign = Literal[" ", "-", "+"]


@dataclass(frozen=True, slots=True)
class HunkLine:
    """Line that stays (" "), is removed ("-") or is added ("+"); without its line end."""

    sign: Sign
    text: str


@dataclass(frozen=True, slots=True)
class Hunk:
    """Contiguous change. `headings` locate it, outermost first.

    `line_hint` is the 1-based line of the old file from a unified diff header; it is often wrong.
    """

    lines: tuple[HunkLine, ...]
    headings: tuple[str, ...] = ()
    is_at_end: bool = False
    line_hint: int | None = None
    starts_section: bool = False
    """Whether it may be anywhere in the file: it begins another section about the same file."""

    @property
    def is_change(self) -> bool:
        """Whether it removes or adds anything; a hunk of context alone marks a position."""
        return self.old_lines != self.new_lines

    @property
    def old_lines(self) -> tuple[str, ...]:
        """Lines before the change."""
        return tuple(line.text for line in self.lines if line.sign != "+")

    @property
    def new_lines(self) -> tuple[str, ...]:
        """Lines after the change."""
        return tuple(line.text for line in self.lines if line.sign != "-")


@dataclass(frozen=True, slots=True)
class AddFile:
    """File to create; every line of its text ends with a newline, unless a diff says otherwise."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class ReplaceFile:
    """File whose whole text is replaced: the patch deletes it and adds it again."""

    path: str
    text: str


@dataclass(frozen=True, slots=True)
class UpdateFile:
    """File to change, move, or both."""

    path: str
    hunks: tuple[Hunk, ...]
    move_to: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteFile:
    """File to delete."""

    path: str


FileChange = AddFile | ReplaceFile | UpdateFile | DeleteFile


def join_lines(lines: tuple[str, ...]) -> str:
    """Return the lines as a text, each ended by a newline."""
    return "".join(f"{line}\n" for line in lines)
