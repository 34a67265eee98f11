"""The tool `patch`: replaces text in a file, or applies a patch of several files in V4A format."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal, assert_never

from pydantic import Field

from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.edit_flow import ChangePlanner, EditFlow, EditServices, PlannedChange
from acp_server.tools.edit.growing_diff import GrowingDiff, matching_head
from acp_server.tools.edit.write_file import EditPreview, describe_file, load_preview
from acp_server.tools.files.errors import FileAlreadyExistsError, FileError, NoSuchFileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.events import FileDiff, Location
from acp_server.turn.ports import ToolOutcome
from skills_store.patching import (
    AddFile,
    DeleteFile,
    FileChange,
    PatchError,
    PatchRegion,
    UpdateFile,
    apply_hunks,
    parse_patch,
    partial_patch_regions,
    replace,
)

DESCRIPTION = (
    "Change files. mode replace (default): old_string, exact and unique in the file, becomes "
    "new_string. mode patch: several files in V4A form (*** Begin Patch, *** Update File: path, "
    "@@, lines with ' ', - or +, *** End Patch)."
)


class PatchArguments(Arguments):
    """Either a replacement in one file, or a patch of any number of files."""

    path: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    mode: Literal["replace", "patch"] = "replace"
    patch: str | None = Field(default=None, description="for mode patch")


class PatchUse(TypedToolUse[PatchArguments]):
    """One call of `patch`."""

    def __init__(self, services: EditServices, reporter: CallReporter) -> None:
        super().__init__(PatchArguments, reporter)
        self._services = services
        self._edit = EditFlow(services, reporter)
        self._growing_diff = GrowingDiff(reporter)
        self._match_preview: EditPreview | None = None
        self._has_loaded_preview = False
        self._previewed: dict[str, Path | None] = {}

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the file as the title, or the number of files in the patch so far."""
        patch = so_far.text("patch")
        if not patch:
            return describe_file("Edit", so_far, self._services)
        names = list(dict.fromkeys(region.path for region in partial_patch_regions(patch)))
        if not names:
            return None
        paths = [self._displayable_path(name) for name in names]
        title = self._services.display_path(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
        return CallDescription(f"Edit {title}", tuple(Location(str(path)) for path in paths))

    async def draft(self, so_far: PartialArguments) -> None:
        """Update the title, then show the part of the change that was received."""
        await super().draft(so_far)
        patch = so_far.text("patch")
        if patch:
            await self._draft_patch(patch)
        else:
            await self._draft_replacement(so_far)

    async def run(self, arguments: PatchArguments) -> ToolOutcome:
        """Apply the replacement or the patch."""
        if arguments.patch and (arguments.mode == "patch" or not arguments.old_string):
            return await self._run_patch(arguments.patch)
        if arguments.mode == "patch":
            return ToolOutcome("mode patch needs the argument patch", is_error=True)
        return await self._run_replacement(arguments)

    async def _draft_replacement(self, so_far: PartialArguments) -> None:
        path, old = so_far.complete_text("path"), so_far.complete_text("old_string")
        if path is not None and old is not None and not self._has_loaded_preview:
            self._has_loaded_preview = True
            self._match_preview = _preview_match(await load_preview(path, self._services), old)
        new = so_far.text("new_string")
        if self._match_preview is not None and new:
            self._growing_diff.show_if_due(len(new), partial(self._match_preview.diff, new))

    async def _draft_patch(self, patch: str) -> None:
        regions = partial_patch_regions(patch)
        for region in regions:
            if region.path not in self._previewed:
                self._previewed[region.path] = await self._previewable_path(region.path)
        new_characters = sum(len(region.new) for region in regions)
        self._growing_diff.show_if_due(new_characters, partial(self._diffs, regions))

    async def _previewable_path(self, raw_path: str) -> Path | None:
        try:
            resolved = await self._services.resolve(raw_path)
        except FileError:
            return None
        return resolved.path if await self._services.can_preview(resolved) else None

    def _diffs(self, regions: Sequence[PatchRegion]) -> tuple[FileDiff, ...]:
        path_regions = [(self._previewed.get(region.path), region) for region in regions]
        return tuple(
            FileDiff(str(path), r.old if r.old is None else matching_head(r.old, r.new), r.new)
            for path, r in path_regions
            if path is not None
        )

    async def _run_replacement(self, arguments: PatchArguments) -> ToolOutcome:
        raw_path, old, new = arguments.path, arguments.old_string, arguments.new_string
        if not raw_path or old is None or new is None:
            return ToolOutcome("mode replace needs path, old_string and new_string", is_error=True)

        async def plan() -> tuple[PlannedChange, ...]:
            resolved = await self._services.resolve(raw_path)
            base = await self._services.files.read(resolved)
            replacement = replace(base.text, old, new, replace_all=arguments.replace_all)
            note = (
                f" ({replacement.count} places)"
                if replacement.count > 1
                else f" at line {replacement.line}"
            )
            note += (
                ""
                if replacement.strategy == "exact"
                else f"; old_string matched by {replacement.strategy}"
            )
            return (
                PlannedChange(resolved, base, replacement.text, line=replacement.line, note=note),
            )

        return await self._run_edit((raw_path,), plan)

    async def _run_patch(self, patch: str) -> ToolOutcome:
        try:
            file_changes = parse_patch(patch)
        except PatchError as error:
            return ToolOutcome(str(error), is_error=True)

        async def plan() -> tuple[PlannedChange, ...]:
            return tuple([await self._plan_change(change) for change in file_changes])

        # The targets of moves are locked too: two calls must not move files to the same path.
        moves = [c.move_to for c in file_changes if isinstance(c, UpdateFile) and c.move_to]
        return await self._run_edit([*(change.path for change in file_changes), *moves], plan)

    async def _run_edit(self, raw_paths: Sequence[str], plan: ChangePlanner) -> ToolOutcome:
        try:
            paths = [self._services.lexical_path(each) for each in raw_paths]
        except FileError as error:
            return ToolOutcome(error.reason, is_error=True)
        return await self._edit.run(paths, plan, can_retry=True)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the result if the edit was applied already, else the reason."""
        return self._edit.applied_outcome or super().interrupted_outcome(reason)

    async def _plan_change(self, file_change: FileChange) -> PlannedChange:
        file_service = self._services.files
        resolved = await self._services.resolve(file_change.path)
        base = await file_service.read_if_exists(resolved)
        if isinstance(file_change, AddFile):
            if base is not None:
                raise FileAlreadyExistsError(self._services.display_path(resolved.path))
            return PlannedChange(resolved, None, file_change.text)
        if base is None:
            raise NoSuchFileError(self._services.display_path(resolved.path), ())
        match file_change:
            case DeleteFile():
                return PlannedChange(resolved, base, None)
            case UpdateFile():
                applied = apply_hunks(base.text, file_change.hunks)
                moved_to = (
                    await self._resolve_target(file_change.move_to) if file_change.move_to else None
                )
                line = applied.lines[0] if applied.lines else 1
                return PlannedChange(
                    resolved, base, applied.text, moved_to, line, _line_note(applied.lines)
                )
            case _:
                assert_never(file_change)

    async def _resolve_target(self, raw_path: str) -> ResolvedPath:
        """Resolve the path to which a file is moved.

        Raises:
            FileAlreadyExistsError: There is a file at that path.
        """
        resolved = await self._services.resolve(raw_path)
        if await self._services.files.read_if_exists(resolved) is not None:
            raise FileAlreadyExistsError(self._services.display_path(resolved.path))
        return resolved

    def _displayable_path(self, raw_path: str) -> Path:
        try:
            return self._services.lexical_path(raw_path)
        except FileError:
            return Path(raw_path)


def _preview_match(preview: EditPreview | None, old: str) -> EditPreview | None:
    """Return a preview of only the text that will be replaced; None if it is not found."""
    if preview is None or preview.old_text is None:
        return None
    try:
        # Only the position is needed. The new text must differ from `old`, else it is refused.
        begin, end = replace(preview.old_text, old, f"{old}\0", replace_all=True).spans[0]
    except PatchError:
        return None
    return EditPreview(preview.source, preview.old_text[begin:end])


def _line_note(lines: Sequence[int]) -> str:
    return f" at line {', '.join(str(line) for line in lines[:10])}" if lines else ""


def patch_tool(services: EditServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("patch", DESCRIPTION, PatchArguments, streams=True)
    return Tool(spec, "edit", "Edit a file", partial(PatchUse, services))
