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
        found = partial_patch_regions(patch)
        for region in found:
            if region.path not in self._previewed:
                self._previewed[region.path] = await self._previewable_path(region.path)
        new_characters = sum(len(region.new) for region in found)
        self._growing_diff.show_if_due(new_characters, partial(self._diffs, found))

    async def _previewable_path(self, given: str) -> Path | None:
        try:
            place = await self._services.resolve(given)
        except FileError:
            return None
        return place.path if await self._services.can_preview(place) else None

    def _diffs(self, found: Sequence[PatchRegion]) -> tuple[FileDiff, ...]:
        places = [(self._previewed.get(region.path), region) for region in found]
        return tuple(
            FileDiff(str(path), r.old if r.old is None else matching_head(r.old, r.new), r.new)
            for path, r in places
            if path is not None
        )

    async def _run_replacement(self, arguments: PatchArguments) -> ToolOutcome:
        given, old, new = arguments.path, arguments.old_string, arguments.new_string
        if not given or old is None or new is None:
            return ToolOutcome("mode replace needs path, old_string and new_string", is_error=True)

        async def plan() -> tuple[PlannedChange, ...]:
            place = await self._services.resolve(given)
            base = await self._services.files.read(place)
            made = replace(base.text, old, new, replace_all=arguments.replace_all)
            note = f" ({made.count} places)" if made.count > 1 else f" at line {made.line}"
            note += "" if made.strategy == "exact" else f"; old_string matched by {made.strategy}"
            return (PlannedChange(place, base, made.text, line=made.line, note=note),)

        return await self._run_edit((given,), plan)

    async def _run_patch(self, patch: str) -> ToolOutcome:
        try:
            wanted = parse_patch(patch)
        except PatchError as error:
            return ToolOutcome(str(error), is_error=True)

        async def plan() -> tuple[PlannedChange, ...]:
            return tuple([await self._plan_change(change) for change in wanted])

        # The targets of moves are locked too: two calls must not move files to the same path.
        moves = [c.move_to for c in wanted if isinstance(c, UpdateFile) and c.move_to]
        return await self._run_edit([*(change.path for change in wanted), *moves], plan)

    async def _run_edit(self, given: Sequence[str], plan: ChangePlanner) -> ToolOutcome:
        try:
            paths = [self._services.lexical_path(each) for each in given]
        except FileError as error:
            return ToolOutcome(error.reason, is_error=True)
        return await self._edit.run(paths, plan, can_retry=True)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the result if the edit was applied already, else the reason."""
        return self._edit.applied_outcome or super().interrupted_outcome(reason)

    async def _plan_change(self, wanted: FileChange) -> PlannedChange:
        file_service = self._services.files
        place = await self._services.resolve(wanted.path)
        base = await file_service.read_if_exists(place)
        if isinstance(wanted, AddFile):
            if base is not None:
                raise FileAlreadyExistsError(self._services.display_path(place.path))
            return PlannedChange(place, None, wanted.text)
        if base is None:
            raise NoSuchFileError(self._services.display_path(place.path), ())
        match wanted:
            case DeleteFile():
                return PlannedChange(place, base, None)
            case UpdateFile():
                applied = apply_hunks(base.text, wanted.hunks)
                moved_to = await self._resolve_target(wanted.move_to) if wanted.move_to else None
                line = applied.lines[0] if applied.lines else 1
                return PlannedChange(
                    place, base, applied.text, moved_to, line, _line_note(applied.lines)
                )
            case _:
                assert_never(wanted)

    async def _resolve_target(self, given: str) -> ResolvedPath:
        """Resolve the path to which a file is moved.

        Raises:
            FileAlreadyExistsError: There is a file at that path.
        """
        place = await self._services.resolve(given)
        if await self._services.files.read_if_exists(place) is not None:
            raise FileAlreadyExistsError(self._services.display_path(place.path))
        return place

    def _displayable_path(self, given: str) -> Path:
        try:
            return self._services.lexical_path(given)
        except FileError:
            return Path(given)


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
