"""Reads a patch line by line into sections, one per named file. Does not validate, never raises.

V4A and unified diffs, those of git included, are read by the same rules, for models mix them.
Invalid lines are recorded as problems, so that a patch that is still being written can be read too.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, cast

from skills_store.patching.changes import Hunk, HunkLine, Sign

SectionKind = Literal["add", "update", "delete"]

_MARKER = re.compile(r"\*\*\*\s*(Add|Update|Delete|Move) File:\s*(.*?)\s*", re.IGNORECASE)
_MOVE_TO = re.compile(r"\*\*\*\s*Move to:\s*(.*?)\s*", re.IGNORECASE)
_BOUNDARY = re.compile(r"\*\*\*\s*(Begin Patch|End Patch|End of File)\s*", re.IGNORECASE)
_RANGES = re.compile(r"@@+\s*-(\d+)(?:,\d+)?\s+\+\d+(?:,\d+)?\s*(?:@@+)?\s*(.*)")
_GIT_HEAD = re.compile(r"diff --git (?:a/)?(.+) (?:b/)?(.+)")
_GIT_DETAILS = (
    "index ",
    "old mode ",
    "new mode ",
    "similarity index ",
    "dissimilarity index ",
    "copy from ",
)
_NO_NEWLINE = "\\ No newline"
_NO_FILE = "/dev/null"
_EMAIL_END = "-- "
"""The line that ends the diff in a patch sent by e-mail, before the version of git."""


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
    is_diff: bool = False
    """Whether it is a part of a unified diff."""
    lacks_last_newline: bool = False
    """Whether the diff says that an added file ends without a newline."""


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
    _old_header: str | None = None
    """A line that begins with `---`: the header of a file if the next one begins with `+++`."""

    def open_file(self, path: str) -> None:
        """Begin a section about a file that the patch itself does not name."""
        self._open("update", path)

    def read(self, line: str) -> None:
        """Read the next line, without its line end."""
        self._number += 1
        if self._is_finished or self._read_diff_header(line):
            return
        if line.startswith("***") and self._read_marker(line):
            self._blank_lines = 0
        elif self.is_open:
            self._read_body(self.sections[-1], line)
        elif self.sections and line.strip():
            self._add_problem("it belongs to no file. Write *** Update File: path above it.")

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

    def _read_diff_header(self, line: str) -> bool:
        """Read a line of a unified diff that is about a whole file."""
        old_header, self._old_header = self._old_header, None
        section = self.sections[-1] if self.is_open else None
        is_v4a = section is not None and not section.is_diff
        if old_header is not None:
            if line.startswith("+++ "):
                self._open_diff(old_header[4:], line[4:])
                return True
            if section is not None:  # it was a removed line that begins with `--`
                self._read_body(section, old_header)
        if line.startswith("--- ") and not (is_v4a and self._has_hunk()):
            self._old_header = line
            return True
        if is_v4a:
            return False
        if head := _GIT_HEAD.fullmatch(line):
            self._open("update", head[1])
            self.sections[-1].is_diff = True
            return True
        return section is not None and self._read_git_detail(section, line)

    def _read_git_detail(self, section: PatchSection, line: str) -> bool:
        """Read a line between `diff --git` and the first hunk, or the end of a diff."""
        if line == _EMAIL_END:
            self._is_finished = True
            return True
        if section.hunks or section.added:
            return False
        if line.startswith("new file mode "):
            section.kind = "add"
        elif line.startswith("deleted file mode "):
            section.kind = "delete"
        elif line.startswith("rename from "):
            section.path = line.removeprefix("rename from ").strip()
        elif line.startswith("rename to "):
            section.move_to = line.removeprefix("rename to ").strip()
        elif line.startswith(("Binary files ", "GIT binary patch", "copy to ")):
            self._add_problem("only changes of text can be applied.")
        else:
            return line.startswith(_GIT_DETAILS)
        return True

    def _open_diff(self, old_name: str, new_name: str) -> None:
        """Begin the section of a file that is named by `---` and `+++`."""
        old, new = _diff_path(old_name), _diff_path(new_name)
        if old.startswith("a/") and new.startswith("b/"):
            old, new = old[2:], new[2:]
        elif _NO_FILE in {old, new}:
            old, new = old.removeprefix("a/"), new.removeprefix("b/")
        section = self.sections[-1] if self.is_open else None
        if section is not None and not section.hunks and not section.added:
            # The same file again, which V4A, git or the call itself has named.
            if not section.is_diff or section.move_to == new:
                return
        else:
            section = None
        verb: SectionKind = "add" if old == _NO_FILE else "delete" if new == _NO_FILE else "update"
        path = new if verb == "add" else old
        if verb == "update" and old != new:
            self._add_problem(f"it names two files, {old} and {new}. Name the same file twice.")
        if section is None:
            self._open(verb, path)
            self.sections[-1].is_diff = True
        else:
            section.kind, section.path = verb, path

    def _has_hunk(self) -> bool:
        return any(draft.lines or draft.headings for draft in self.sections[-1].hunks)

    def _open(self, verb: str, path: str) -> None:
        move_to: str | None = None
        if verb == "move":
            path, _, move_to = (part.strip() for part in path.partition("->"))
        if not path or move_to == "":
            self._add_problem("the path is missing.")
        kind: SectionKind = "add" if verb == "add" else "delete" if verb == "delete" else "update"
        self.sections.append(PatchSection(kind, path, self._number, move_to))
        self.is_open = True
        self._blank_lines = 0

    def _read_body(self, section: PatchSection, line: str) -> None:
        match section.kind:
            case "add":
                self._read_added(section, line)
            case "update":
                self._read_hunk(section, line)
            case "delete":
                if not (section.is_diff or not line.strip() or line.startswith("```")):
                    self._add_problem("it follows *** Delete File, which takes no lines.")

    def _read_added(self, section: PatchSection, line: str) -> None:
        if not line.strip():
            self._blank_lines += 1
        elif line.startswith("+"):
            section.added.extend([""] * self._blank_lines)
            self._blank_lines = 0
            section.added.append(line[1:])
        elif line.startswith(_NO_NEWLINE):
            section.lacks_last_newline = section.is_diff
        elif not (line.startswith("```") or (line.startswith("@@") and not section.added)):
            self._add_problem("every line of a new file must begin with +.")

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


def rename_paths(patch: str, new_path: Callable[[SectionKind, str], str]) -> str:
    """Return a V4A patch with other paths; those of a diff stay as they are."""
    reader, lines = PatchReader(), patch.split("\n")
    for line in lines:
        reader.read(line.removesuffix("\r"))
    for section in reader.sections:
        path = new_path(section.kind, section.path)
        if path != section.path and not section.is_diff:
            index = section.line - 1
            head, found, tail = lines[index].rpartition(section.path)
            lines[index] = f"{head}{path}{tail}" if found else lines[index]
    return "\n".join(lines)


def _diff_path(name: str) -> str:
    """Return the path of a line `---` or `+++`, without the time that tools write behind it."""
    return name.partition("\t")[0].strip()


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
