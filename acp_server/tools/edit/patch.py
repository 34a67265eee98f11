"""The tool `patch`: replaces text in a file, or applies a patch (V4A or diff) of several files."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace as replace_fields
from functools import partial
from pathlib import Path
from typing import Literal, Protocol, TypeVar, assert_never

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import Arguments, ExactText, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.edit_flow import ChangePlanner, EditServices, PlannedChange
from acp_server.tools.edit.growing_diff import TextPreview
from acp_server.tools.edit.placeholders import check_placeholders
from acp_server.tools.edit.write_file import EditUse, load_preview
from acp_server.tools.errors import ToolError
from acp_server.tools.files.encoding import split_lines
from acp_server.tools.files.errors import FileAlreadyExistsError, FileError, NoSuchFileError
from acp_server.tools.files.notebooks import (
    CellEdit,
    edit_cell,
    notebook_with_cells,
    visible_text,
)
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import FileSnapshot
from acp_server.tools.tool import CallDescription, Tool, build_spec
from acp_server.turn.call_access import CHANGES, CallAccess
from acp_server.turn.events import FileDiff, Location
from acp_server.turn.ports import ToolOutcome
from skills_store.patching.changes import (
    AddFile,
    DeleteFile,
    FileChange,
    Hunk,
    ReplaceFile,
    UpdateFile,
)
from skills_store.patching.errors import NotFoundError, NothingToChangeError, PatchError
from skills_store.patching.hunk_application import HunksApplied, apply_hunks
from skills_store.patching.matching import replace
from skills_store.patching.partial_patch import PatchRegion, partial_patch_regions
from skills_store.patching.v4a import parse_patch

DESCRIPTION = """\
Change files. In mode replace, give path, old_string and new_string. In mode patch, give a patch:
*** Begin Patch
*** Update File: src/a.py
-old line
+new line
*** End Patch
Unchanged lines begin with a space. Put @@ between separate changes. Also: \
*** Add File: path (each line with +), *** Delete File: path."""


class Edit(Arguments):
    """One of several replacements in a file."""

    old_string: ExactText
    new_string: ExactText
    replace_all: bool = False


NO_NEW_STRING = (
    "patch needs new_string, the text that replaces old_string. To delete old_string, make the "
    'call again with new_string="". Nothing was changed.'
)
EDITS_AND_STRINGS = (
    "give either edits, or old_string and new_string for a single edit. Nothing was changed."
)


CODE_FENCE = "```"
FENCE_NOTE = (
    "; new_string begins and ends with ```, and these lines are now in the file: remove them if "
    "you did not mean them"
)
NO_NOTEBOOK_CELL = (
    "to change a cell of a notebook, give path, cell (its number) and new_string, the new source. "
    "Nothing was changed."
)


class PatchArguments(Arguments):
    """Either a replacement in one file, or a patch of any number of files."""

    path: str | None = Field(default=None, description="mode replace: the file to change")
    old_string: ExactText | None = Field(
        default=None,
        description="mode replace: exact text; must occur once, unless replace_all",
    )
    new_string: ExactText | None = Field(
        default=None, description="mode replace: its new text; empty deletes it"
    )
    replace_all: bool = Field(default=False, description="replace it everywhere (default false)")
    mode: Literal["replace", "patch"] = Field(default="replace", description="default replace")
    patch: str | None = Field(default=None, description="required in mode patch")
    # Models that know them from other agents use these; the schema does not offer them.
    edits: SkipJsonSchema[tuple[Edit, ...]] = Field(default=())
    expected_replacements: SkipJsonSchema[int | None] = Field(default=None)
    cell: SkipJsonSchema[str | None] = Field(default=None)
    cell_type: SkipJsonSchema[Literal["code", "markdown", "raw"] | None] = Field(default=None)
    edit_mode: SkipJsonSchema[Literal["replace", "insert", "delete"] | None] = Field(default=None)

    def to_edits(self) -> tuple[Edit, ...]:
        """Return the replacements of mode replace.

        Raises:
            ToolError: An argument is missing.
        """
        old, new = self.old_string, self.new_string
        if self.path and self.edits:
            if old is not None or new is not None:
                raise ToolError(EDITS_AND_STRINGS)
            return self.edits
        if self.path and old is not None and new is not None:
            replace_all = self.replace_all or (self.expected_replacements or 1) > 1
            return (Edit(old_string=old, new_string=new, replace_all=replace_all),)
        if self.path and old is not None:
            raise ToolError(NO_NEW_STRING)
        given = {"path": self.path or None, "old_string": old, "new_string": new}
        missing = " and ".join(name for name, value in given.items() if value is None)
        raise ToolError(
            f"patch needs {missing}: mode replace takes path, old_string and new_string, mode "
            "patch takes patch. Nothing was changed."
        )

    def to_cell_edit(self) -> CellEdit | None:
        """Return the change of one cell of a notebook; None if the call is of another form."""
        names_cell = self.cell is not None or self.edit_mode is not None
        if not names_cell or self.old_string is not None:
            return None
        if not self.path or (self.new_string is None and self.edit_mode != "delete"):
            raise ToolError(NO_NOTEBOOK_CELL)
        mode = self.edit_mode or "replace"
        return CellEdit(self.cell, self.new_string or "", self.cell_type or "", mode)

    @property
    def is_patch(self) -> bool:
        """Whether the call is a patch of files: `mode` is often left out."""
        return bool(self.patch) and (self.mode == "patch" or not self.old_string)

    def parse(self) -> tuple[FileChange, ...]:
        """Return the changes of a patch.

        Raises:
            PatchError: It cannot be read.
        """
        return parse_patch(self.patch or "", self.path)


class PatchUse(EditUse[PatchArguments]):
    """One call of `patch`."""

    def __init__(self, services: EditServices, reporter: CallReporter) -> None:
        super().__init__(PatchArguments, services, reporter)
        self._previewed: dict[str, Path | None] = {}

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the file as the title, or the number of files in the patch so far."""
        patch = so_far.text("patch")
        if not patch:
            return self.services.describe_file("Edit", so_far.complete_text("path"))
        names = list(dict.fromkeys(region.path for region in partial_patch_regions(patch)))
        if not names:
            return None
        paths = [self._displayable_path(name) for name in names]
        title = self.services.display_path(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
        return CallDescription(f"Edit {title}", tuple(Location(str(path)) for path in paths))

    async def draft(self, so_far: PartialArguments) -> None:
        """Update the title, then show the part of the change that was received."""
        await super().draft(so_far)
        patch = so_far.text("patch")
        if patch:
            await self._draft_patch(patch)
        else:
            await self._draft_replacement(so_far)

    def access(self, arguments: PatchArguments) -> CallAccess:
        """Return that it changes the files it names."""
        if not arguments.is_patch:
            return self.access_to((arguments.path,)) if arguments.path else CHANGES
        try:
            return self.access_to(_list_paths(arguments.parse()))
        except PatchError:
            return CHANGES

    async def run(self, arguments: PatchArguments) -> ToolOutcome:
        """Apply the replacement or the patch."""
        plan: ChangePlanner
        if arguments.is_patch:
            try:
                file_changes = arguments.parse()
            except PatchError as error:
                raise ToolError(str(error)) from error
            plan = partial(self._plan_patch, file_changes)
            raw_paths = _list_paths(file_changes)
        elif arguments.mode == "patch":
            raise ToolError("mode patch needs the argument patch")
        elif (cell_edit := arguments.to_cell_edit()) is not None:
            raw_paths = [arguments.path or ""]
            plan = partial(self._plan_cell_edit, raw_paths[0], cell_edit)
        else:
            edits, raw_paths = arguments.to_edits(), [arguments.path or ""]
            expected = arguments.expected_replacements
            plan = partial(self._plan_replacements, raw_paths[0], edits, expected)
        paths = [self.services.lexical_path(each) for each in raw_paths]
        return await self.edit.run(paths, plan, can_retry=True)

    async def _draft_replacement(self, so_far: PartialArguments) -> None:
        path, old = so_far.complete_text("path"), so_far.complete_text("old_string")
        if path is None or old is None:
            return

        async def load_match() -> TextPreview | None:
            """Return a preview of only the text that will be replaced; None if it is not found."""
            preview = await load_preview(path, self.services)
            if preview is None or preview.old_text is None:
                return None
            try:
                # Only the position is needed. The new text must differ from `old`, else it is
                # refused.
                found = replace(preview.old_text, old, f"{old}\0", replace_all=True)
            except PatchError:
                return None
            begin, end = found.spans[0]
            return TextPreview(preview.path, preview.old_text[begin:end])

        await self.growing_diff.show_text(so_far.text("new_string"), load_match)

    async def _draft_patch(self, patch: str) -> None:
        regions = partial_patch_regions(patch)
        for region in regions:
            if region.path not in self._previewed:
                self._previewed[region.path] = None
                with suppress(FileError):
                    resolved = await self.services.resolve(region.path)
                    if await self.services.can_preview(resolved):
                        self._previewed[region.path] = resolved.path
        new_characters = sum(len(region.new) for region in regions)
        self.growing_diff.show_if_due(new_characters, partial(self._diffs, regions))

    def _diffs(self, regions: Sequence[PatchRegion]) -> tuple[FileDiff, ...]:
        return tuple(
            diff
            for region in regions
            if (path := self._previewed.get(region.path)) is not None
            for diff in TextPreview(path, region.old).diff(region.new)
        )

    async def _plan_replacements(
        self, raw_path: str, edits: Sequence[Edit], expected_count: int | None
    ) -> tuple[PlannedChange, ...]:
        resolved = await self.services.resolve(raw_path)
        if not edits[0].old_string:
            # So other agents' tools make a file.
            base = await self.services.files.read_if_exists(resolved)
            if len(edits) == 1 and not (base and base.text):
                return (PlannedChange(resolved, base, edits[0].new_string),)
        base = await self.services.files.read(resolved)
        made, text = _edit_text(
            resolved.path, base.text, lambda text: _make_edits(text, edits, expected_count)
        )
        note = made.note + self.services.guard.note_change(resolved, base)
        written_lines = frozenset[str]().union(
            *(_whole_lines(split_lines(edit.new_string)) for edit in edits)
        )
        change = PlannedChange(
            resolved, base, text, line=made.line, note=note, written_lines=written_lines
        )
        return (change,)

    async def _plan_cell_edit(self, raw_path: str, edit: CellEdit) -> tuple[PlannedChange, ...]:
        resolved = await self.services.resolve(raw_path)
        base = await self.services.files.read(resolved)
        text, line = edit_cell(base.text, edit)
        note = f" at line {line}" + self.services.guard.note_change(resolved, base)
        lines = _whole_lines(split_lines(edit.source))
        return (PlannedChange(resolved, base, text, line=line, note=note, written_lines=lines),)

    async def _plan_patch(self, file_changes: Sequence[FileChange]) -> tuple[PlannedChange, ...]:
        planned: list[PlannedChange] = []
        unchanged: list[str] = []
        for change in file_changes:
            try:
                planned.append(await self._plan_change(change))
            except NothingToChangeError:
                unchanged.append(change.path)
        if not planned:
            raise NothingToChangeError
        if unchanged:
            note = f"\nskipped {', '.join(unchanged)}: the patch changes nothing there"
            planned[-1] = replace_fields(planned[-1], note=f"{planned[-1].note}{note}")
        return tuple(planned)

    async def _plan_change(self, file_change: FileChange) -> PlannedChange:
        file_service = self.services.files
        resolved = await self.services.resolve(file_change.path)
        base = await file_service.read_if_exists(resolved)
        if isinstance(file_change, AddFile):
            if base is not None:
                raise FileAlreadyExistsError(self.services.display_path(resolved.path))
            return PlannedChange(resolved, None, file_change.text)
        if base is None:
            raise NoSuchFileError(self.services.display_path(resolved.path), ())
        match file_change:
            case DeleteFile():
                return PlannedChange(resolved, base, None)
            case ReplaceFile():
                self.services.guard.check_overwrite(resolved, base)
                check_placeholders(base.text, file_change.text)
                if base.text == file_change.text:
                    raise NothingToChangeError
                note = "; the patch deleted and added it, so its whole text was replaced"
                return PlannedChange(resolved, base, file_change.text, note=note)
            case UpdateFile():
                return await self._plan_update(file_change, resolved, base)
            case _:
                assert_never(file_change)

    async def _plan_update(
        self, file_change: UpdateFile, resolved: ResolvedPath, base: FileSnapshot
    ) -> PlannedChange:
        moved_to = None
        if file_change.move_to:
            moved_to = await self.services.resolve(file_change.move_to)
            if await self.services.files.read_if_exists(moved_to) is not None:
                raise FileAlreadyExistsError(self.services.display_path(moved_to.path))
        try:
            applied, text = _edit_text(
                resolved.path, base.text, lambda text: _apply_hunks(text, file_change.hunks)
            )
        except NothingToChangeError:
            if moved_to is None:
                raise
            applied, text = HunksApplied(base.text, ()), base.text  # it is moved as it is
        places = ", ".join(str(line) for line in applied.lines[:10])
        note = f" at line {places}" if places else ""
        if applied.skipped:
            numbers = ", ".join(map(str, applied.skipped))
            note += f"; skipped hunk {numbers}: nothing changes there"
        for number, fits in applied.first_fits:
            note += f"; hunk {number} fits at {fits} places, it was applied at the first"
        note += self.services.guard.note_change(resolved, base)
        line = applied.lines[0] if applied.lines else 1
        lines = _whole_lines(each for hunk in file_change.hunks for each in hunk.new_lines)
        return PlannedChange(resolved, base, text, moved_to, line, note, lines)

    def _displayable_path(self, raw_path: str) -> Path:
        try:
            return self.services.lexical_path(raw_path)
        except FileError:
            return Path(raw_path)


@frozen_dataclass
class _EditsMade:
    """The text after the replacements of one call, and what the result says of them."""

    text: str
    line: int
    note: str


class _Edited(Protocol):
    """The result of an edit of a text."""

    @property
    def text(self) -> str:
        """The text after it."""
        ...


_EditedT = TypeVar("_EditedT", bound=_Edited)


def _edit_text(path: Path, text: str, edit: Callable[[str], _EditedT]) -> tuple[_EditedT, str]:
    """Edit a file's text as the model reads it; return the result and the file's new text.

    The JSON of a notebook is edited if the model means that and not the cells that it was shown.

    Raises:
        PatchError: The edit does not fit.
        FileError: The result is no notebook.
    """
    visible = visible_text(path, text)
    try:
        edited = edit(visible)
    except NotFoundError:
        if visible == text:
            raise
        with suppress(PatchError):
            edited = edit(text)
            return edited, edited.text
        raise
    return edited, edited.text if visible == text else notebook_with_cells(text, edited.text)


def _apply_hunks(text: str, hunks: Sequence[Hunk]) -> HunksApplied:
    applied = apply_hunks(text, hunks)
    check_placeholders(text, applied.text)
    return applied


def _make_edits(original: str, edits: Sequence[Edit], expected_count: int | None) -> _EditsMade:
    """Make the replacements one after the other.

    Raises:
        PatchError: One of them does not fit, or there are not as many places as expected.
        PlaceholderError: The new text has a placeholder in place of code.
    """
    text, line, notes, count = original, 1, list[str](), 0
    for number, edit in enumerate(edits, 1):
        try:
            replaced = replace(text, edit.old_string, edit.new_string, replace_all=edit.replace_all)
        except PatchError as error:
            if len(edits) == 1:
                raise
            problem = f"edit {number} of {len(edits)}: {error} (no edit was made)"
            raise PatchError(problem) from error
        line = replaced.line if number == 1 else line
        note = f" at line {replaced.line}"
        if replaced.count > 1:
            note = f" ({replaced.count} places)"
        if replaced.strategy != "exact":
            note += f"; old_string matched by {replaced.strategy}"
        if _brings_a_fence(edit):
            note += FENCE_NOTE
        notes.append(note)
        text, count = replaced.text, count + replaced.count
    if expected_count is not None and count != expected_count:
        problem = (
            f"old_string is there {count} times, but expected_replacements is "
            f"{expected_count}. Nothing was changed."
        )
        raise PatchError(problem)
    check_placeholders(original, text)
    return _EditsMade(text, line, ",".join(notes))


def _brings_a_fence(edit: Edit) -> bool:
    """Whether the new text is in a code fence that the old text does not have."""
    old, new = edit.old_string.strip(), edit.new_string.strip()
    has_fence = new.startswith(CODE_FENCE) and new.endswith(CODE_FENCE) and "\n" in new
    return has_fence and CODE_FENCE not in old


def _whole_lines(lines: Iterable[str]) -> frozenset[str]:
    """Return lines as a file may hold them: the last one may have a line end or none."""
    return frozenset(form for line in lines for form in (line, f"{line.removesuffix(chr(10))}\n"))


def _list_paths(changes: Sequence[FileChange]) -> list[str]:
    """Return the files that a patch changes, as they are named in it."""
    # The targets of moves as well: two calls must not move files to the same path.
    moves = [each.move_to for each in changes if isinstance(each, UpdateFile) and each.move_to]
    return [*(each.path for each in changes), *moves]


def patch_tool(services: EditServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("patch", DESCRIPTION, PatchArguments, streams=True)
    return Tool(spec, "edit", "Edit a file", partial(PatchUse, services))
