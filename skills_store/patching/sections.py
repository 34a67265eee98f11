"""Reads V4A line by line into sections, one per named file. Does not validate and never raises.

Invalid lines are recorded as problems, so that a patch that is still being written can be read too.
"""

import re
from dataclasses import dataclass, field
from typing import Literal, cast

from skills_store.patching.changes import Hunk, HunkLine, Sign

SectionKind = Literal["add", "update", "delete"]

_MARKER = re.compile(r"\*\*\*\s*(Add|Update|Delete|Move) File:\s*(.*?)\s*", re.IGNORECASE)
_MOVE_TO = re.compile(r"\*\*\*\s*Move to:\s*(.*?)\s*", re.IGNORECASE)
_BOUNDARY = re.compile(r"\*\*\*\s*(Begin Patch|End Patch|End of File)\s*", re.IGNORECASE)
_RANGES = re.compile(r"@@+\s*-(\d+)(?:,\d+)?\s+\+\d+(?:,\d+)?\s*(?:@@+)?\s*(.*)")
_NO_NEWLINE = "\\ No newline"


@dataclass(slots=True)
class HunkDraft:
    """Hunk that is being read."""

    headings: list[str] = field(default_factory=list[str])
    lines: list[HunkLine] = field(default_factory=list[HunkLine])
    is_at_end: bool = False
    line_hint: int | None = None

    def build(self) -> Hunk:
        """Return the hunk read so far."""
        return Hunk(tuple(self.lines), tuple(self.headings), self.is_at_end, self.line_hint)


@dataclass(slots=True)
class PatchSection:
    """Part of a patch about one file. `line` is the 1-based line of its marker."""

    kind: SectionKind
    path: str
    line: int
    move_to: str | None = None
    added: list[str] = field(default_factory=list[str])
    hunks: list[HunkDraft] = field(default_factory=list[HunkDraft])


@dataclass(frozen=True, slots=True)
class PatchProblem:
    """Problem in a line of a patch."""

    line: int
    reason: str


@dataclass(slots=True)
class PatchReader:
    """Incremental patch reader. `is_open` tells whether the next line belongs to a file."""

    sections: list[PatchSection] = field(default_factory=list[PatchSection])
    problems: list[PatchProblem] = field(default_factory=list[PatchProblem])
    is_open: bool = False
    _number: int = 0
    _blank_lines: int = 0
    _is_finished: bool = False

    def read(self, line: str) -> None:
        """Read the next line, without its line end."""
        self._number += 1
        if self._is_finished:
            return
        if line.startswith("***") and self._read_marker(line):
            self._blank_lines = 0
        elif self.is_open:
            self._read_body(self.sections[-1], line)
        elif self.sections and line.strip():
            self._add_problem("it belongs to no file.")

    def _read_marker(self, line: str) -> bool:
        if boundary := _BOUNDARY.fullmatch(line):
            name = boundary[1].lower()
            if name != "end of file":
                self._is_finished = name == "end patch" and bool(self.sections)
                self.is_open = False
            elif self.is_open and self.sections[-1].hunks:
                self.sections[-1].hunks[-1].is_at_end = True
        elif marker := _MARKER.fullmatch(line):
            self._open(marker[1].lower(), marker[2])
        elif move := _MOVE_TO.fullmatch(line):
            section = self.sections[-1] if self.is_open else None
            if section is None or section.kind != "update" or not move[1]:
                self._add_problem("*** Move to: path belongs right below *** Update File: path.")
            else:
                section.move_to = move[1]
        else:
            return False
        return True

    def _open(self, verb: str, path: str) -> None:
        move_to: str | None = None
        if verb == "move":
            path, _, move_to = (part.strip() for part in path.partition("->"))
        if not path or move_to == "":
            self._add_problem("the path is missing.")
        kind = cast("SectionKind", "update" if verb == "move" else verb)
        self.sections.append(PatchSection(kind, path, self._number, move_to))
        self.is_open = True

    def _read_body(self, section: PatchSection, line: str) -> None:
        match section.kind:
            case "add":
                self._read_added(section, line)
            case "update":
                self._read_hunk(section, line)
            case "delete":
                if line.strip() and not line.startswith("```"):
                    self._add_problem("a file that is deleted has no lines.")

    def _read_added(self, section: PatchSection, line: str) -> None:
        if not line.strip():
            self._blank_lines += 1
        elif line.startswith("+"):
            section.added.extend([""] * self._blank_lines)
            self._blank_lines = 0
            section.added.append(line[1:])
        elif not line.startswith(("```", _NO_NEWLINE)):
            self._add_problem("every line of a new file begins with +.")

    def _read_hunk(self, section: PatchSection, line: str) -> None:
        if line.startswith("@@"):
            self._blank_lines = 0
            _read_heading(section, line)
        elif not line:
            self._blank_lines += 1
        elif not line.startswith(_NO_NEWLINE):
            self._read_line(section, line)

    def _read_line(self, section: PatchSection, line: str) -> None:
        if line.startswith("```"):  # the end of a fence around the patch
            self.is_open = False
            return
        if not section.hunks or section.hunks[-1].is_at_end:
            section.hunks.append(HunkDraft())
        lines = section.hunks[-1].lines
        lines.extend([HunkLine(" ", "")] * (self._blank_lines if lines else 0))
        self._blank_lines = 0
        is_signed = line[0] in " -+"
        sign = cast("Sign", line[0]) if is_signed else " "
        lines.append(HunkLine(sign, line[1:] if is_signed else line))

    def _add_problem(self, reason: str) -> None:
        self.problems.append(PatchProblem(self._number, reason))


def _read_heading(section: PatchSection, line: str) -> None:
    """Start a hunk, or add a heading to one that has no lines yet."""
    if not section.hunks or section.hunks[-1].lines or section.hunks[-1].is_at_end:
        section.hunks.append(HunkDraft())
    draft = section.hunks[-1]
    match = _RANGES.fullmatch(line.rstrip())
    heading = match[2] if match else line.strip().removesuffix("@@").removeprefix("@@")
    if match:
        draft.line_hint = int(match[1][:9])
    if heading.strip():
        draft.headings.append(heading.strip())
