"""Reasons why an edit failed, worded for the model that requested it.

PatchError                  nothing was changed; the message says how to proceed
  NothingToFindError        the old text is empty
  NothingToChangeError      the edit would not change the text
  NotFoundError             the old text does not occur; the nearest text is shown
  AmbiguousError            the old text occurs more than once
  UnplacedInsertionError    a hunk only adds lines and gives no position
  MalformedPatchError       the patch syntax is invalid
    EmptyPatchError         the patch contains no change
    RepeatedPathError       the patch has two changes of one file that contradict each other
"""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_SHOWN_SPANS = 10


@dataclass(frozen=True, slots=True)
class NearestText:
    """Part of a text most similar to the missing text. Lines count from 1.

    `difference` says in one sentence where the two first differ; empty if they do not.
    """

    first_line: int
    lines: tuple[str, ...]
    difference: str = ""

    @property
    def last_line(self) -> int:
        """Number of the last line."""
        return self.first_line + len(self.lines) - 1


class PatchError(ValueError):
    """An edit that cannot be applied. `hunk` counts from 1; None outside a patch."""

    def __init__(self, reason: str, hunk: int | None = None) -> None:
        super().__init__(reason if hunk is None else f"Hunk {hunk}: {reason}")
        self.hunk = hunk


class NothingToFindError(PatchError):
    """The old text is empty."""

    def __init__(self) -> None:
        super().__init__("The old text is empty. Give the text that you want to replace.")


class NothingToChangeError(PatchError):
    """The edit would not change the text."""

    def __init__(self) -> None:
        super().__init__(
            "The edit changes nothing: the file already has the new text. If this is what you "
            "want, go on. If not, give another new text."
        )


class NotFoundError(PatchError):
    """The old text does not occur. `applied_line` is the line of the new text, if that occurs.

    `mistake` names a likely mistake in the old text. `is_unlike` says that the whole text was
    searched and holds no line that is similar to one of the old text.
    """

    def __init__(
        self,
        nearest: NearestText | None,
        applied_line: int | None = None,
        hunk: int | None = None,
        *,
        mistake: str = "",
        is_unlike: bool = False,
    ) -> None:
        message = _not_found_message(nearest, applied_line, is_unlike=is_unlike)
        super().__init__(f"{mistake} {message}".strip(), hunk)
        self.nearest = nearest
        self.applied_line = applied_line


class AmbiguousError(PatchError):
    """The old text occurs more than once. `lines` are the first lines of the first occurrences."""

    def __init__(self, count: int, lines: Sequence[int], hunk: int | None = None) -> None:
        shown = tuple(lines[:MAX_SHOWN_SPANS])
        listed = ", ".join(map(str, shown)) + (", ..." if count > len(shown) else "")
        advice = (
            "To change one place, add the lines around it to the old text. To change all places, "
            "set replace_all."
            if hunk is None
            else "Add unchanged lines around the change, or a heading above it (@@ def name)."
        )
        super().__init__(
            f"The old text is in the file {count} times (lines {listed}). {advice}", hunk
        )
        self.count = count
        self.lines = shown


class UnplacedInsertionError(PatchError):
    """A hunk that only adds lines. `heading` is the one not found exactly once, if there is one."""

    def __init__(self, hunk: int, heading: str | None = None) -> None:
        super().__init__(
            "It only adds lines and does not say where. Add the unchanged lines before or after "
            "them."
            if heading is None
            else f"Its heading must be in the file exactly once, and is not: {heading}. Add the "
            "unchanged lines before or after the new ones.",
            hunk,
        )
        self.heading = heading


class MalformedPatchError(PatchError):
    """Invalid patch syntax. `line` is the 1-based line of the patch."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"Line {line} of the patch: {reason}")
        self.line = line


class EmptyPatchError(MalformedPatchError):
    """A patch without changes."""

    def __init__(self) -> None:
        super().__init__(
            "it names no file. Begin it with *** Update File: path (or Add File, Delete File), or "
            "give a unified diff with --- and +++ lines.",
            1,
        )


class RepeatedPathError(MalformedPatchError):
    """A file that is named twice in a way that cannot be meant, such as two moves."""

    def __init__(self, path: str, line: int) -> None:
        super().__init__(
            f"{path} is named twice, and the two sections contradict each other. Put all changes "
            "of one file into one section.",
            line,
        )
        self.path = path


def _not_found_message(
    nearest: NearestText | None, applied_line: int | None, *, is_unlike: bool
) -> str:
    if applied_line is not None:
        return (
            f"The old text is not in the file, but the new text is, at line {applied_line}: the "
            "edit seems to be made. Read the file before you try again."
        )
    if nearest is None:
        unlike = ", and no line is similar to it" if is_unlike else ""
        return f"The old text is not in the file{unlike}. Read the file and try again."
    shown = "\n".join(
        f"{number}|{line}" for number, line in enumerate(nearest.lines, nearest.first_line)
    )
    return (
        "The old text is not in the file. The nearest is at "
        f"lines {nearest.first_line}-{nearest.last_line}. Copy it exactly:\n{shown}"
    ) + (f"\n{nearest.difference}" if nearest.difference else "")
