"""The tool `write_file`: writes a file, shown as a growing diff while the model streams it."""

from functools import partial

import anyio

from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.edit_flow import EditFlow, EditServices, PlannedChange
from acp_server.tools.edit.growing_diff import GrowingDiff, matching_head
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.events import FileDiff, Location
from acp_server.turn.ports import ToolOutcome

DESCRIPTION = (
    "Write a whole file; folders are made. Replaces what is there: change an existing file with "
    "patch instead."
)
PREVIEW_TIMEOUT_SECONDS = 1.0
"""How long the model's stream may wait until the old text for the preview is read."""


class WriteFileArguments(Arguments):
    """A path and the new text.

    The path comes first in the schema, so that the diff can be shown while the text is streamed.
    """

    path: str
    content: str


class WriteFileUse(TypedToolUse[WriteFileArguments]):
    """One call of `write_file`."""

    def __init__(self, services: EditServices, reporter: CallReporter) -> None:
        super().__init__(WriteFileArguments, reporter)
        self._services = services
        self._edit = EditFlow(services, reporter)
        self._growing_diff = GrowingDiff(reporter)
        self._preview: EditPreview | None = None
        self._has_loaded_preview = False

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the file as the title, as soon as its path is complete."""
        return describe_file("Write", so_far, self._services)

    async def draft(self, so_far: PartialArguments) -> None:
        """Update the title, then show the part of the text that was received."""
        await super().draft(so_far)
        path = so_far.complete_text("path")
        # Once, even if it fails: else every fragment would read the file again.
        if path is not None and not self._has_loaded_preview:
            self._has_loaded_preview = True
            self._preview = await load_preview(path, self._services)
        content = so_far.text("content")
        if self._preview is not None and content:
            self._growing_diff.show_if_due(len(content), partial(self._preview.diff, content))

    async def run(self, arguments: WriteFileArguments) -> ToolOutcome:
        """Write the file."""
        try:
            path = self._services.lexical_path(arguments.path)
        except FileError as error:
            return ToolOutcome(error.reason, is_error=True)

        async def plan() -> tuple[PlannedChange, ...]:
            resolved = await self._services.resolve(arguments.path)
            base = await self._services.files.read_if_exists(resolved)
            lines = len(arguments.content.splitlines())
            return (
                PlannedChange(
                    resolved,
                    base,
                    arguments.content,
                    note=f" ({lines:,} line{'' if lines == 1 else 's'})",
                ),
            )

        return await self._edit.run((path,), plan)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the result if the edit was applied already, else the reason."""
        return self._edit.applied_outcome or super().interrupted_outcome(reason)


class EditPreview:
    """A file whose new text is being streamed: its path and its old text, None if it is new."""

    def __init__(self, resolved: ResolvedPath, old_text: str | None) -> None:
        self.source = resolved
        self.old_text = old_text

    def diff(self, new_text: str) -> tuple[FileDiff, ...]:
        """Return the diff with the part of the new text that was received."""
        old_text = None if self.old_text is None else matching_head(self.old_text, new_text)
        return (FileDiff(str(self.source.path), old_text, new_text),)


async def load_preview(path: str, services: EditServices) -> EditPreview | None:
    """Load the old text for a preview; None if the file must not or cannot be previewed.

    A protected file must not: its text may be shown in the permission question only.
    """
    try:
        resolved = await services.resolve(path)
        if not await services.can_preview(resolved):
            return None
        with anyio.move_on_after(PREVIEW_TIMEOUT_SECONDS):
            base = await services.files.read_if_exists(resolved)
            return EditPreview(resolved, None if base is None else base.text)
    except FileError:
        return None
    return None


def describe_file(
    verb: str, so_far: PartialArguments, services: EditServices
) -> CallDescription | None:
    """Return the title that names a call's file, once its path is complete."""
    raw_path = so_far.complete_text("path")
    if raw_path is None:
        return None
    try:
        path = services.lexical_path(raw_path)
    except FileError:
        return CallDescription(f"{verb} {raw_path}")
    return CallDescription(f"{verb} {services.display_path(path)}", (Location(str(path)),))


def write_file_tool(services: EditServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("write_file", DESCRIPTION, WriteFileArguments, streams=True)
    return Tool(spec, "edit", "Write a file", partial(WriteFileUse, services))
