"""The tool `write_file`: writes a file, shown as a growing diff while the model streams it."""

from functools import partial

import anyio

from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.edit.edit_flow import Change, Edit, Workshop
from acp_server.tools.edit.growing_diff import GrowingDiff, as_far
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import Place
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.events import FileDiff, Location
from acp_server.turn.ports import Outcome

DESCRIPTION = (
    "Write a whole file; folders are made. Replaces what is there: change an existing file with "
    "patch instead."
)
PREVIEW_SECONDS = 1.0
"""How long the model's stream may wait until the old text for the preview is read."""


class WriteArguments(Arguments):
    """A path and the new text.

    The path comes first in the schema, so that the diff can be shown while the text is streamed.
    """

    path: str
    content: str


class WriteUse(Use[WriteArguments]):
    """One call of `write_file`."""

    def __init__(self, workshop: Workshop, report: Report) -> None:
        super().__init__(WriteArguments, report)
        self._workshop = workshop
        self._edit = Edit(workshop, report)
        self._growing = GrowingDiff(report)
        self._preview: Preview | None = None
        self._is_looked_up = False

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the file as the title, as soon as its path is complete."""
        return described("Write", so_far, self._workshop)

    async def draft(self, so_far: SoFar) -> None:
        """Update the title, then show the part of the text that was received."""
        await super().draft(so_far)
        path = so_far.whole("path")
        # Once, even if it fails: else every fragment would read the file again.
        if path is not None and not self._is_looked_up:
            self._is_looked_up = True
            self._preview = await look_up(path, self._workshop)
        content = so_far.text("content")
        if self._preview is not None and content:
            self._growing.offer(len(content), partial(self._preview.diff, content))

    async def run(self, arguments: WriteArguments) -> Outcome:
        """Write the file."""
        try:
            path = self._workshop.path_of(arguments.path)
        except FileError as error:
            return Outcome(error.reason, is_error=True)

        async def plan() -> tuple[Change, ...]:
            place = await self._workshop.place(arguments.path)
            base = await self._workshop.desk.look(place)
            lines = len(arguments.content.splitlines())
            return (
                Change(
                    place,
                    base,
                    arguments.content,
                    note=f" ({lines:,} line{'' if lines == 1 else 's'})",
                ),
            )

        return await self._edit.carry_out((path,), plan)

    def cut_short(self, reason: str) -> Outcome:
        """Return the result if the edit was applied already, else the reason."""
        return self._edit.done or super().cut_short(reason)


class Preview:
    """A file whose new text is being streamed: its path and its old text, None if it is new."""

    def __init__(self, place: Place, old_text: str | None) -> None:
        self.place = place
        self.old_text = old_text

    def diff(self, new_text: str) -> tuple[FileDiff, ...]:
        """Return the diff with the part of the new text that was received."""
        old_text = None if self.old_text is None else as_far(self.old_text, new_text)
        return (FileDiff(str(self.place.path), old_text, new_text),)


async def look_up(path: str, workshop: Workshop) -> Preview | None:
    """Load the old text for a preview; None if the file must not or cannot be previewed.

    A protected file must not: its text may be shown in the permission question only.
    """
    try:
        place = await workshop.place(path)
        if not await workshop.may_preview(place):
            return None
        with anyio.move_on_after(PREVIEW_SECONDS):
            base = await workshop.desk.look(place)
            return Preview(place, None if base is None else base.text)
    except FileError:
        return None
    return None


def described(verb: str, so_far: SoFar, workshop: Workshop) -> Description | None:
    """Return the title that names a call's file, once its path is complete."""
    given = so_far.whole("path")
    if given is None:
        return None
    try:
        path = workshop.path_of(given)
    except FileError:
        return Description(f"{verb} {given}")
    return Description(f"{verb} {workshop.shown(path)}", (Location(str(path)),))


def write_file_tool(workshop: Workshop) -> Tool:
    """Return the tool for a session."""
    spec = spec_of("write_file", DESCRIPTION, WriteArguments, streams=True)
    return Tool(spec, "edit", "Write a file", partial(WriteUse, workshop))
