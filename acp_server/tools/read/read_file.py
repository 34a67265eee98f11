"""The tool `read_file`: returns lines of a text file, a listing, or an image or PDF document."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from pydantic import Field

from acp_server.session.commands.markdown import fenced_block
from acp_server.session.seen_files import ShownRun
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.edit_flow import EditServices, read_question
from acp_server.tools.files.encoding import split_lines
from acp_server.tools.files.errors import (
    BinaryFileError,
    FileError,
    HugeFileError,
    PathIsDirectoryError,
)
from acp_server.tools.files.notebooks import CELL_MARK, is_notebook, visible_text
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.read.machine_text import kind_of_machine_text
from acp_server.tools.read.media import MediaError, read_media
from acp_server.tools.search.formatting import format_name
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import READS
from acp_server.turn.conversation import Text
from acp_server.turn.ports import ToolOutcome
from skills_store.patching.request_variants import NUMBERED_EVERY

DESCRIPTION = (
    "Read a text file, list a folder, or look at an image or a PDF. Every fifth line begins with "
    "its number and |, not part of the file."
)
PDF_START = "%PDF-"
MAX_CHARACTERS = 25_000
MAX_LINE_CHARACTERS = 2_000
MAX_SHOWN_CHARACTERS = 4_000
MAX_MACHINE_CHARACTERS = 2_000
"""How much of a file that a machine wrote is shown unless lines of it are requested."""
EMPTY = "(the file is empty)"
NOTEBOOK_ADVICE = "a notebook: change these cells with patch; `%% cell new code` begins a new one"


class ReadFileArguments(Arguments):
    """A file and the lines to read."""

    path: str = Field(description="file or folder, absolute or relative to the workspace")
    offset: int = Field(default=1, ge=1, description="first line, from 1 (default 1)")
    limit: int = Field(default=2_000, ge=1, le=5_000, description="number of lines (default 2000)")


@frozen_dataclass
class _Page:
    """The lines that one call shows, as far as they fit."""

    lines: Sequence[str]
    first_line: int
    cut_lines: frozenset[int]
    """The numbers of the lines that are too long to be shown in full."""
    advice: str = ""
    """How to find the rest, if reading on is not the way."""
    is_numbered: bool = True
    runs: Sequence[ShownRun] = ()
    """Lines that are not shown, because an earlier result shows them."""

    @property
    def last_line(self) -> int:
        return self.first_line - 1 + len(self.lines)

    @property
    def text(self) -> str:
        """The lines for the model; every fifth begins with its number."""
        return "".join(self._parts(is_numbered=self.is_numbered))

    @property
    def is_all_referred(self) -> bool:
        """Whether one earlier result shows all these lines."""
        return any(run.first == self.first_line and run.last == self.last_line for run in self.runs)

    def _parts(self, *, is_numbered: bool) -> Iterator[str]:
        """Yield the lines, and a reference in place of each run that is not shown."""
        start = self.first_line
        for run in (*self.runs, None):
            end = run.first if run else self.last_line + 1
            for number in range(start, end):
                line = self.lines[number - self.first_line]
                yield f"{_line_mark(number)}{line}" if is_numbered else line
            if run:
                yield _refer_to(run)
                start = run.last + 1

    def full_ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the first and the last number of each run of lines that are shown in full."""
        start = self.first_line
        gaps = [*((number, number) for number in self.cut_lines)]
        gaps += [(run.first, run.last) for run in self.runs]
        end = self.last_line + 1
        for first, last in (*sorted(gaps), (end, end)):
            if first > start:
                yield start, first - 1
            start = last + 1

    def lines_before(self, number: int) -> int:
        """Return how many lines of the text come before this one, which is shown."""
        hidden = sum(run.last - run.first for run in self.runs if run.last < number)
        return number - self.first_line - hidden

    def outcome(self, total_lines: int | None) -> ToolOutcome:
        """Return the lines; a last line says how many more there are (None: unknown)."""
        note = self._note(total_lines)
        plain = "".join(self._parts(is_numbered=False))
        text, shown_text = (_append(body, note) for body in (self.text, plain))
        if len(shown_text) > MAX_SHOWN_CHARACTERS:
            beginning = shown_text[:MAX_SHOWN_CHARACTERS]
            shown_text = f"{beginning}\n… ({len(shown_text):,} characters were read)"
        return ToolOutcome(text, shown=(Text(fenced_block(shown_text.rstrip("\n"))),))

    def unchanged_outcome(self, total_lines: int) -> ToolOutcome:
        """Return that the model has these lines already."""
        lines = f"{self.first_line:,}-{self.last_line:,} of {total_lines:,}"
        run = self.runs[0]
        if run.first_there != run.first:
            lines += f", there {_range(run.first_there, run.last - run.first + run.first_there)}"
        text = f"unchanged since you read it (lines {lines}): use that result"
        return ToolOutcome(text, shown=(Text(f"({text})"),))

    def _note(self, total_lines: int | None) -> str:
        if total_lines == 0 and not self.lines:
            return EMPTY
        if not self.lines:
            total = "?" if total_lines is None else f"{total_lines:,}"
            return f"(there is no line {self.first_line:,}; there are {total} lines)"
        left = None if total_lines is None else total_lines - self.last_line
        if left == 0 and not self.advice:
            return ""
        more = "more" if left is None else f"{left:,} more"
        if not self.advice:
            return f"[{more}: offset={self.last_line + 1}]"
        return f"[{more} lines; {self.advice}]" if left else f"[{self.advice}]"


def _refer_to(run: ShownRun) -> str:
    """Return a line in place of lines that an earlier result shows."""
    shift = run.first_there - run.first
    if not shift:
        return f"[lines {_range(run.first, run.last)}: unchanged since you read them]\n"
    there = _range(run.first + shift, run.last + shift)
    return f"[lines {_range(run.first, run.last)}: the same as lines {there} that you read]\n"


def _range(first: int, last: int) -> str:
    return f"{first:,}-{last:,}"


def _line_mark(number: int) -> str:
    """Return what a line begins with: its number, which most lines do not have."""
    return f"{number}|" if number % NUMBERED_EVERY == 0 else ""


def _append(text: str, note: str) -> str:
    """Return a text and a note on a line of its own."""
    newline = "\n" if note and text and not text.endswith("\n") else ""
    return f"{text}{newline}{note}"


def _fill_page(
    lines: Sequence[str], first_line: int, max_characters: int = MAX_CHARACTERS, advice: str = ""
) -> _Page:
    """Return as many of these lines as fit into a result, at least one; long lines are cut."""
    shown_lines: list[str] = []
    cut_lines: set[int] = set()
    characters = 0
    for number, line in enumerate(lines, first_line):
        shown_line = line
        max_line = min(MAX_LINE_CHARACTERS, max_characters)
        if len(line) > max_line:
            beginning = line[:max_line]
            shown_line = f"{beginning}… ({len(line):,} characters in this line)\n"
        characters += len(_line_mark(number)) + len(shown_line)
        if characters > max_characters and shown_lines:
            break
        shown_lines.append(shown_line)
        if shown_line is not line:
            cut_lines.add(number)
    return _Page(shown_lines, first_line, frozenset(cut_lines), advice)


def _list_directory(found: PathIsDirectoryError, arguments: ReadFileArguments) -> ToolOutcome:
    """Return the entries of a directory, one a line: directories first, then files."""
    entries = sorted(found.entries, key=lambda name: (not name.endswith("/"), name))
    if not entries:
        return ToolOutcome("(the folder is empty)")
    lines = [f"{format_name(os.fsencode(name))}\n" for name in entries]
    start = arguments.offset - 1
    page = _fill_page(lines[start : start + arguments.limit], arguments.offset)
    return replace(page, is_numbered=False).outcome(found.count)


class ReadFileUse(TypedToolUse[ReadFileArguments]):
    """One call of `read_file`."""

    usual_access = READS

    def __init__(self, services: EditServices, reporter: CallReporter) -> None:
        super().__init__(ReadFileArguments, reporter)
        self._services = services

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the file and the first line as the title."""
        offset = so_far.complete.get("offset")
        line = offset if isinstance(offset, int) and offset > 1 else 1
        return self._services.describe_file("Read", so_far.complete_text("path"), line)

    async def run(self, arguments: ReadFileArguments) -> ToolOutcome:
        """Ask permission and read the file."""
        resolved = await self._services.resolve(arguments.path)
        question = read_question(self.reporter.call_id, f"Read {resolved.path}", resolved)
        await self.require_permission(self._services.gate, question)
        outcome = await self._read(resolved, arguments)
        return replace(outcome, touched_paths=(str(resolved.path),))

    async def _read(self, resolved: ResolvedPath, arguments: ReadFileArguments) -> ToolOutcome:
        file_service = self._services.files
        try:
            snapshot = await file_service.read(resolved)
        except BinaryFileError as error:
            return await self._read_media(resolved, error)
        except PathIsDirectoryError as error:
            return _list_directory(error, arguments)
        except HugeFileError as error:
            outcome = (
                await self._read_media(resolved, error) if resolved.path.suffix == ".pdf" else None
            )
            if outcome is not None and not outcome.is_error:
                return outcome
            text, total_lines = await file_service.read_lines(
                resolved, arguments.offset, arguments.limit
            )
            return _fill_page(split_lines(text), arguments.offset).outcome(total_lines)
        # Some PDFs are plain ASCII and decode as text.
        if snapshot.is_saved and snapshot.text.startswith(PDF_START):
            return await self._read_media(resolved, BinaryFileError(resolved.raw_path, "a PDF"))
        return self._show(resolved, visible_text(resolved.real, snapshot.text), arguments)

    def _show(self, resolved: ResolvedPath, text: str, arguments: ReadFileArguments) -> ToolOutcome:
        """Return the requested lines of a text, or that the conversation shows them already."""
        lines, start = split_lines(text), arguments.offset - 1
        max_characters, advice = MAX_CHARACTERS, ""
        is_whole = not {"offset", "limit"} & arguments.model_fields_set
        if is_whole and len(text) > MAX_CHARACTERS:
            kind = kind_of_machine_text(resolved.path.name, text)
            if kind:
                max_characters = MAX_MACHINE_CHARACTERS
                advice = f"{kind} of {len(text):,} characters: use search_files on it"
        page = _fill_page(
            lines[start : start + arguments.limit], arguments.offset, max_characters, advice
        )
        if (
            text.startswith(CELL_MARK)
            and is_notebook(resolved.real)
            and page.last_line == len(lines)
        ):
            page = replace(page, advice=NOTEBOOK_ADVICE)
        seen, path = self._services.guard.seen, str(resolved.real)
        page = replace(page, runs=seen.shown_runs(path, text, (page.first_line, page.last_line)))
        if page.is_all_referred:
            return page.unchanged_outcome(len(lines))
        self._note_seen(resolved, text, page)
        return page.outcome(len(lines))

    def _note_seen(self, resolved: ResolvedPath, text: str, page: _Page) -> None:
        seen, path, call_id = self._services.guard.seen, str(resolved.real), self.reporter.call_id
        shown_text = page.text or EMPTY
        for lines in page.full_ranges() if text else ((1, 1),):
            seen.note_read(path, text, lines, call_id, shown_text, page.lines_before(lines[0]))

    async def _read_media(self, resolved: ResolvedPath, not_text_error: FileError) -> ToolOutcome:
        """Return an image or a PDF; for any other file, the error that it is not text."""
        name = self._services.display_path(resolved.path)
        try:
            media = await read_media(resolved)
        except MediaError as error:
            return ToolOutcome(f"{name} cannot be shown: {error}", is_error=True)
        except OSError as error:
            return ToolOutcome(f"{name} cannot be read: {error.strerror}", is_error=True)
        if media is None:
            return ToolOutcome(not_text_error.reason, is_error=True)
        return ToolOutcome(f"{name} ({media.mime_type})", media=(media,))


def read_file_tool(services: EditServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("read_file", DESCRIPTION, ReadFileArguments)
    return Tool(spec, "read", "Read a file", partial(ReadFileUse, services), returns_data=True)
