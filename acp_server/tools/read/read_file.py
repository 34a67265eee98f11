"""The tool `read_file`: returns lines of a text file, or an image or a PDF document."""

import io
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pydantic import Field

from acp_server.permissions.effects import ReadFiles
from acp_server.permissions.questions import Question
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.display_paths import target_of
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.files.errors import BinaryFileError, FileError, HugeFileError
from acp_server.tools.files.paths import Place
from acp_server.tools.read.media import MediaError, read_media
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import Location
from acp_server.turn.ports import Outcome

DESCRIPTION = (
    "Read lines of a text file (offset: first line, from 1), or look at an image or a PDF. Sees "
    "the editor's unsaved changes."
)
PDF_START = "%PDF-"
MOST_CHARACTERS = 80_000
MOST_LINE_CHARACTERS = 2_000
MOST_SHOWN_CHARACTERS = 4_000


class ReadArguments(Arguments):
    """A file and the lines to read."""

    path: str
    offset: int = Field(default=1, ge=1)
    limit: int = Field(default=500, ge=1, le=5_000)


@frozen
class Page:
    """Lines of a text file with their position; `total_lines` is None if unknown."""

    text: str
    first_line: int
    last_line: int
    total_lines: int | None

    def for_model(self) -> str:
        """Return the lines, and a last line about the lines that are left out."""
        total = "?" if self.total_lines is None else f"{self.total_lines:,}"
        if not self.text and self.total_lines == 0:
            return "(the file is empty)"
        if self.last_line < self.first_line:
            return f"(there is no line {self.first_line:,}; the file has {total} lines)"
        if self.first_line == 1 and self.last_line == self.total_lines:
            return self.text
        is_last = self.last_line == self.total_lines
        more = "" if is_last else f"; go on with offset={self.last_line + 1}"
        newline = "" if self.text.endswith("\n") else "\n"
        place = f"[lines {self.first_line:,}-{self.last_line:,} of {total}{more}]"
        return f"{self.text}{newline}{place}"


def page_of(text: str, offset: int, limit: int) -> Page:
    """Return the lines from `offset` on, at most `limit` of them and MOST_CHARACTERS."""
    lines = lines_of(text)
    return _fitting(lines[offset - 1 : offset - 1 + limit], offset, len(lines))


def lines_of(text: str) -> list[str]:
    r"""Return the lines with their line ends.

    Only `\n` ends a line, unlike in `str.splitlines`: line numbers must agree with those of
    `search_files` and `patch`.
    """
    return io.StringIO(text, newline="\n").readlines()


def _fitting(lines: Sequence[str], first_line: int, total_lines: int | None) -> Page:
    """Return as many of these lines as fit into a result, at least one; long lines are cut."""
    taken: list[str] = []
    characters = 0
    for line in lines:
        cut = _cut(line)
        characters += len(cut)
        if characters > MOST_CHARACTERS and taken:
            break
        taken.append(cut)
    return Page("".join(taken), first_line, first_line - 1 + len(taken), total_lines)


def _cut(line: str) -> str:
    if len(line) <= MOST_LINE_CHARACTERS:
        return line
    return f"{line[:MOST_LINE_CHARACTERS]}… ({len(line):,} characters in this line)\n"


class ReadUse(Use[ReadArguments]):
    """One call of `read_file`."""

    def __init__(self, workshop: Workshop, report: Report) -> None:
        super().__init__(ReadArguments, report)
        self._workshop = workshop

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the file and the first line as the title."""
        given = so_far.whole("path")
        if given is None:
            return None
        try:
            path = self._workshop.path_of(given)
        except FileError:
            return Description(f"Read {given}")
        offset = so_far.complete.get("offset")
        line = offset if isinstance(offset, int) and offset > 1 else None
        title = f"Read {self._workshop.shown(path)}" + (f" from line {line}" if line else "")
        return Description(title, (Location(str(path), line),))

    async def run(self, arguments: ReadArguments) -> Outcome:
        """Ask permission and read the file."""
        try:
            place = await self._workshop.place(arguments.path)
            refusal = await self._workshop.gate.pass_through(self._question(place))
            if refusal is not None:
                return Outcome(refusal.reason, is_error=True)
            await self.report.begin()
            outcome = await self._read(place, arguments)
            return replace(outcome, touched=(str(place.path),))
        except FileError as error:
            return Outcome(error.reason, is_error=True)

    def _question(self, place: Place) -> Question:
        return Question(
            call_id=self.report.call_id,
            effect=ReadFiles((target_of(place),)),
            title=f"Read {place.path}",
            kind="read",
            locations=(Location(str(place.path)),),
        )

    async def _read(self, place: Place, arguments: ReadArguments) -> Outcome:
        desk = self._workshop.desk
        try:
            snapshot = await desk.read(place)
        except BinaryFileError as error:
            return await self._look(place, error)
        except HugeFileError as error:
            outcome = await self._look(place, error) if place.path.suffix == ".pdf" else None
            if outcome is not None and not outcome.is_error:
                return outcome
            part = await desk.read_part(place, arguments.offset, arguments.limit)
            return _shown(_fitting(lines_of(part.text), arguments.offset, part.total_lines))
        # Some PDFs are plain ASCII and decode as text.
        if snapshot.is_saved and snapshot.text.startswith(PDF_START):
            return await self._look(place, BinaryFileError(place.given, "a PDF"))
        return _shown(page_of(snapshot.text, arguments.offset, arguments.limit))

    async def _look(self, place: Place, not_text: FileError) -> Outcome:
        """Return an image or a PDF; for any other file, the error that it is not text."""
        name = self._workshop.shown(place.path)
        try:
            media = await read_media(place)
        except MediaError as error:
            return Outcome(f"{name} cannot be shown: {error}", is_error=True)
        except OSError as error:
            return Outcome(f"{name} cannot be read: {error.strerror}", is_error=True)
        if media is None:
            return Outcome(not_text.reason, is_error=True)
        return Outcome(f"{name} ({media.mime_type})", media=(media,))


def _shown(page: Page) -> Outcome:
    text = page.for_model()
    brief = text
    if len(text) > MOST_SHOWN_CHARACTERS:
        brief = f"{text[:MOST_SHOWN_CHARACTERS]}\n… ({len(text):,} characters were read)"
    fence = "`" * max(3, _longest_ticks(brief) + 1)
    return Outcome(text, shown=(Text(f"{fence}\n{brief.rstrip(chr(10))}\n{fence}"),))


def _longest_ticks(text: str) -> int:
    """Return the length of the longest run of backticks, which a Markdown fence must exceed."""
    longest = 0
    while "`" * (longest + 1) in text:
        longest += 1
    return longest


def read_file_tool(workshop: Workshop) -> Tool:
    """Return the tool for a session."""
    spec = spec_of("read_file", DESCRIPTION, ReadArguments)
    return Tool(spec, "read", "Read a file", partial(ReadUse, workshop))
