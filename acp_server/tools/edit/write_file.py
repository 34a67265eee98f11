"""The tool `write_file`: writes a file, shown as a growing diff while the model streams it."""

from collections.abc import Iterable
from functools import partial

import anyio
from pydantic import Field

from acp_server.tools.arguments import Arguments, ArgumentsT, ExactText, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.diffs import first_changed_line
from acp_server.tools.edit.edit_flow import EditFlow, EditServices, PlannedChange
from acp_server.tools.edit.growing_diff import GrowingDiff, TextPreview
from acp_server.tools.edit.placeholders import check_placeholders
from acp_server.tools.errors import ToolError
from acp_server.tools.files.encoding import split_lines
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.notebooks import (
    CELL_MARK,
    NEW_NOTEBOOK,
    is_notebook,
    notebook_with_cells,
)
from acp_server.tools.files.paths import names_of_file
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import CHANGES, CallAccess
from acp_server.turn.ports import ToolOutcome
from skills_store.patching.request_variants import NUMBERED_EVERY

DESCRIPTION = (
    "Write a whole file; missing folders are created. All text of an existing file is replaced, "
    "so read it first. To change a part, use patch."
)
NUMBERED_CONTENT = (
    "content begins every fifth line with its number, such as `5|`, as read_file shows it. These "
    "numbers are not part of the file. Nothing was written. Make the call again without them."
)
PREVIEW_TIMEOUT_SECONDS = 1.0
"""How long the model's stream may wait until the old text for the preview is read."""


class WriteFileArguments(Arguments):
    """A path and the new text.

    The path comes first in the schema, so that the diff can be shown while the text is streamed.
    """

    path: str = Field(description="file to write")
    content: ExactText = Field(description="the whole text")


class EditUse(TypedToolUse[ArgumentsT]):
    """One call of a tool that edits files."""

    def __init__(
        self, arguments: type[ArgumentsT], services: EditServices, reporter: CallReporter
    ) -> None:
        super().__init__(arguments, reporter)
        self.services = services
        self.edit = EditFlow(services, reporter)
        self.growing_diff = GrowingDiff(reporter)

    def access_to(self, raw_paths: Iterable[str]) -> CallAccess:
        """Return the access of an edit of these files. Blocks."""
        try:
            paths = frozenset(
                name
                for each in raw_paths
                for name in names_of_file(self.services.lexical_path(each))
            )
        except (FileError, OSError):
            return CHANGES
        return CallAccess("edits", paths) if paths else CHANGES

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the result if the edit was applied already, else the reason."""
        return self.edit.applied_outcome or super().interrupted_outcome(reason)


class WriteFileUse(EditUse[WriteFileArguments]):
    """One call of `write_file`."""

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the file as the title, as soon as its path is complete."""
        return self.services.describe_file("Write", so_far.complete_text("path"))

    async def draft(self, so_far: PartialArguments) -> None:
        """Update the title, then show the part of the text that was received."""
        await super().draft(so_far)
        path = so_far.complete_text("path")
        if path is not None:
            load = partial(load_preview, path, self.services)
            await self.growing_diff.show_text(so_far.text("content"), load)

    def access(self, arguments: WriteFileArguments) -> CallAccess:
        """Return that it changes its file."""
        return self.access_to((arguments.path,))

    async def run(self, arguments: WriteFileArguments) -> ToolOutcome:
        """Write the file."""
        if _has_line_numbers(arguments.content):
            raise ToolError(NUMBERED_CONTENT)
        path = self.services.lexical_path(arguments.path)

        async def plan() -> tuple[PlannedChange, ...]:
            resolved = await self.services.resolve(arguments.path)
            base = await self.services.files.read_if_exists(resolved)
            if base is not None:
                self.services.guard.check_overwrite(resolved, base)
                check_placeholders(base.text, arguments.content)
            lines = len(split_lines(arguments.content))
            note = f" ({lines:,} line{'' if lines == 1 else 's'})"
            content = arguments.content
            if is_notebook(resolved.path) and content.startswith(CELL_MARK):
                content = notebook_with_cells(NEW_NOTEBOOK if base is None else base.text, content)
            line = first_changed_line("" if base is None else base.text, content)
            return (PlannedChange(resolved, base, content, line=line, note=note),)

        return await self.edit.run((path,), plan)


def _has_line_numbers(content: str) -> bool:
    """Whether a text has numbers at the lines where `read_file` shows them, and at no others."""
    marks = [
        (index, line.partition("|")[0])
        for index, line in enumerate(split_lines(content), 1)
        if line.partition("|")[0].isdecimal()
    ]
    numbered = range(NUMBERED_EVERY, len(split_lines(content)) + 1, NUMBERED_EVERY)
    return bool(marks) and marks == [(index, str(index)) for index in numbered]


async def load_preview(path: str, services: EditServices) -> TextPreview | None:
    """Load the old text for a preview; None if the file must not or cannot be previewed.

    A protected file must not: its text may be shown in the permission question only.
    """
    try:
        resolved = await services.resolve(path)
        if not await services.can_preview(resolved):
            return None
        with anyio.move_on_after(PREVIEW_TIMEOUT_SECONDS):
            base = await services.files.read_if_exists(resolved)
            return TextPreview(resolved.path, None if base is None else base.text)
    except FileError:
        return None
    return None


def write_file_tool(services: EditServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("write_file", DESCRIPTION, WriteFileArguments, streams=True)
    return Tool(spec, "edit", "Write a file", partial(WriteFileUse, WriteFileArguments, services))
