"""The tool `patch`: replaces text in a file, or applies a patch of several files in V4A format."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal, assert_never

from pydantic import Field

from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.edit.edit_flow import Change, Edit, Plan, Workshop
from acp_server.tools.edit.growing_diff import GrowingDiff, as_far
from acp_server.tools.edit.write_file import Preview, described, look_up
from acp_server.tools.files.errors import ExistsError, FileError, MissingFileError
from acp_server.tools.files.paths import Place
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.events import FileDiff, Location
from acp_server.turn.ports import Outcome
from skills_store.patching import (
    AddFile,
    DeleteFile,
    FileChange,
    PatchError,
    Region,
    UpdateFile,
    apply_hunks,
    parse_patch,
    regions,
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


class PatchUse(Use[PatchArguments]):
    """One call of `patch`."""

    def __init__(self, workshop: Workshop, report: Report) -> None:
        super().__init__(PatchArguments, report)
        self._workshop = workshop
        self._edit = Edit(workshop, report)
        self._growing = GrowingDiff(report)
        self._region: Preview | None = None
        self._is_looked_up = False
        self._previewed: dict[str, Path | None] = {}

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the file as the title, or the number of files in the patch so far."""
        patch = so_far.text("patch")
        if not patch:
            return described("Edit", so_far, self._workshop)
        names = list(dict.fromkeys(region.path for region in regions(patch)))
        if not names:
            return None
        paths = [self._path(name) for name in names]
        title = self._workshop.shown(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
        return Description(f"Edit {title}", tuple(Location(str(path)) for path in paths))

    async def draft(self, so_far: SoFar) -> None:
        """Update the title, then show the part of the change that was received."""
        await super().draft(so_far)
        patch = so_far.text("patch")
        if patch:
            await self._draft_patch(patch)
        else:
            await self._draft_replacement(so_far)

    async def run(self, arguments: PatchArguments) -> Outcome:
        """Apply the replacement or the patch."""
        if arguments.patch and (arguments.mode == "patch" or not arguments.old_string):
            return await self._run_patch(arguments.patch)
        if arguments.mode == "patch":
            return Outcome("mode patch needs the argument patch", is_error=True)
        return await self._run_replacement(arguments)

    async def _draft_replacement(self, so_far: SoFar) -> None:
        path, old = so_far.whole("path"), so_far.whole("old_string")
        if path is not None and old is not None and not self._is_looked_up:
            self._is_looked_up = True
            self._region = _region(await look_up(path, self._workshop), old)
        new = so_far.text("new_string")
        if self._region is not None and new:
            self._growing.offer(len(new), partial(self._region.diff, new))

    async def _draft_patch(self, patch: str) -> None:
        found = regions(patch)
        for region in found:
            if region.path not in self._previewed:
                self._previewed[region.path] = await self._place_of_preview(region.path)
        new_characters = sum(len(region.new) for region in found)
        self._growing.offer(new_characters, partial(self._diffs, found))

    async def _place_of_preview(self, given: str) -> Path | None:
        try:
            place = await self._workshop.place(given)
        except FileError:
            return None
        return place.path if await self._workshop.may_preview(place) else None

    def _diffs(self, found: Sequence[Region]) -> tuple[FileDiff, ...]:
        places = [(self._previewed.get(region.path), region) for region in found]
        return tuple(
            FileDiff(str(path), r.old if r.old is None else as_far(r.old, r.new), r.new)
            for path, r in places
            if path is not None
        )

    async def _run_replacement(self, arguments: PatchArguments) -> Outcome:
        given, old, new = arguments.path, arguments.old_string, arguments.new_string
        if not given or old is None or new is None:
            return Outcome("mode replace needs path, old_string and new_string", is_error=True)

        async def plan() -> tuple[Change, ...]:
            place = await self._workshop.place(given)
            base = await self._workshop.desk.read(place)
            made = replace(base.text, old, new, replace_all=arguments.replace_all)
            note = f" ({made.count} places)" if made.count > 1 else f" at line {made.line}"
            note += "" if made.strategy == "exact" else f"; old_string matched by {made.strategy}"
            return (Change(place, base, made.text, line=made.line, note=note),)

        return await self._carry_out((given,), plan)

    async def _run_patch(self, patch: str) -> Outcome:
        try:
            wanted = parse_patch(patch)
        except PatchError as error:
            return Outcome(str(error), is_error=True)

        async def plan() -> tuple[Change, ...]:
            return tuple([await self._change(change) for change in wanted])

        # The targets of moves are locked too: two calls must not move files to the same path.
        moves = [c.move_to for c in wanted if isinstance(c, UpdateFile) and c.move_to]
        return await self._carry_out([*(change.path for change in wanted), *moves], plan)

    async def _carry_out(self, given: Sequence[str], plan: Plan) -> Outcome:
        try:
            paths = [self._workshop.path_of(each) for each in given]
        except FileError as error:
            return Outcome(error.reason, is_error=True)
        return await self._edit.carry_out(paths, plan, may_redo=True)

    def cut_short(self, reason: str) -> Outcome:
        """Return the result if the edit was applied already, else the reason."""
        return self._edit.done or super().cut_short(reason)

    async def _change(self, wanted: FileChange) -> Change:
        desk = self._workshop.desk
        place = await self._workshop.place(wanted.path)
        base = await desk.look(place)
        if isinstance(wanted, AddFile):
            if base is not None:
                raise ExistsError(self._workshop.shown(place.path))
            return Change(place, None, wanted.text)
        if base is None:
            raise MissingFileError(self._workshop.shown(place.path), ())
        match wanted:
            case DeleteFile():
                return Change(place, base, None)
            case UpdateFile():
                applied = apply_hunks(base.text, wanted.hunks)
                moved_to = await self._new_place(wanted.move_to) if wanted.move_to else None
                line = applied.lines[0] if applied.lines else 1
                return Change(place, base, applied.text, moved_to, line, _at(applied.lines))
            case _:
                assert_never(wanted)

    async def _new_place(self, given: str) -> Place:
        """Resolve the path to which a file is moved.

        Raises:
            FileAlreadyExistsError: There is a file at that path.
        """
        place = await self._workshop.place(given)
        if await self._workshop.desk.look(place) is not None:
            raise ExistsError(self._workshop.shown(place.path))
        return place

    def _path(self, given: str) -> Path:
        try:
            return self._workshop.path_of(given)
        except FileError:
            return Path(given)


def _region(preview: Preview | None, old: str) -> Preview | None:
    """Return a preview of only the text that will be replaced; None if it is not found."""
    if preview is None or preview.old_text is None:
        return None
    try:
        # Only the position is needed. The new text must differ from `old`, else it is refused.
        begin, end = replace(preview.old_text, old, f"{old}\0", replace_all=True).spans[0]
    except PatchError:
        return None
    return Preview(preview.place, preview.old_text[begin:end])


def _at(lines: Sequence[int]) -> str:
    return f" at line {', '.join(str(line) for line in lines[:10])}" if lines else ""


def patch_tool(workshop: Workshop) -> Tool:
    """Return the tool for a session."""
    spec = spec_of("patch", DESCRIPTION, PatchArguments, streams=True)
    return Tool(spec, "edit", "Edit a file", partial(PatchUse, workshop))
