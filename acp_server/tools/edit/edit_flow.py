"""Shared edit flow: show the diff, ask permission, apply.

A change is computed while its files are locked, from their contents at that moment. If a file has
changed by the time it is written, a change that can be recomputed is computed, shown and asked
about again. A protected file's content appears only in the permission question until the user
agrees.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.checkpoints.manager import CheckpointManager, CommandRun
from acp_server.checkpoints.turn_recorder import TouchedFile
from acp_server.permissions.effects import ReadFiles, WriteFiles
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.display_paths import display_path, target_for
from acp_server.tools.edit.diffs import exact_diff
from acp_server.tools.edit.new_problems import NewProblemFinder, ProblemBaseline
from acp_server.tools.edit.touched_files import file_to_remove, removed_file, written_file
from acp_server.tools.files.encoding import convert_newlines
from acp_server.tools.files.errors import FileChangedError, FileError, InvalidPathError
from acp_server.tools.files.file_service import FileService
from acp_server.tools.files.notebooks import visible_text
from acp_server.tools.files.paths import ResolvedPath, lexical_path
from acp_server.tools.files.seen_file_guard import SeenFileGuard
from acp_server.tools.files.snapshot import FileSnapshot
from acp_server.tools.tool import CallDescription
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind, FileDiff, Location
from acp_server.turn.ports import ToolOutcome
from skills_store.patching.errors import PatchError

MAX_ATTEMPTS = 5
YIELD_QUEUE_SECONDS = 0.1
"""How long a call may wait for its files before it gives up its place in the question queue."""
MAX_PATH_CHARACTERS = 4_096
"""PATH_MAX on Linux. No system takes more, and resolving the links of far more takes forever."""


@frozen_dataclass
class PlannedChange:
    """Planned change of one file: its new text (None deletes it) and perhaps a new path.

    `base` is the file that the change was computed from, None for a new file.
    """

    source: ResolvedPath
    base: FileSnapshot | None
    text: str | None
    moved_to: ResolvedPath | None = None
    line: int = 1
    note: str = ""
    """Appended to the result line for the model."""
    written_lines: Collection[str] | None = None
    """The lines that the model wrote, if it did not write the whole file."""

    @property
    def is_needless(self) -> bool:
        """Whether the file on disk has the new text already, line endings aside."""
        base, text = self.base, self.text
        if base is None or text is None or self.moved_to is not None or not base.is_saved:
            return False
        return convert_newlines(base.text, "\n") == convert_newlines(text, "\n")

    def diffs(self) -> tuple[FileDiff, ...]:
        """Return the exact diff; a move is a deletion and a creation."""
        old_text = None if self.base is None else self.base.text
        path = str(self.source.path)
        if self.moved_to is None:
            blocks = exact_diff(path, old_text, self.text or "")
            return blocks if self.text is not None else _mark_deletion(blocks)
        deletion = _mark_deletion(exact_diff(path, old_text, ""))
        return (*deletion, *exact_diff(str(self.moved_to.path), None, self.text or ""))

    @property
    def target(self) -> ResolvedPath:
        """Path of the file after the change."""
        return self.moved_to or self.source

    @property
    def paths(self) -> tuple[ResolvedPath, ...]:
        """All paths that the change touches."""
        return (self.source, self.moved_to) if self.moved_to else (self.source,)

    def original_files(self) -> tuple[TouchedFile, ...]:
        """Return its files as they are before the change, for the checkpoint. It blocks."""
        if self.text is not None and self.moved_to is None:
            return (written_file(self.source, self.base),)
        removed = file_to_remove(self.source, self.base)
        return (removed, written_file(self.moved_to, None)) if self.moved_to else (removed,)


ChangePlanner = Callable[[], Awaitable[Sequence[PlannedChange]]]


@frozen_dataclass
class EditServices:
    """Dependencies of the edits of one session, or of one sub-agent."""

    files: FileService
    gate: Gate
    workspace: SessionWorkspace
    home: Path
    problem_finder: NewProblemFinder | None
    """Finds the problems that an edit introduced."""
    checkpoints: CheckpointManager
    """Records files before a turn changes them."""
    guard: SeenFileGuard
    """Compares files with what the model has seen of them."""

    def lexical_path(self, raw_path: str) -> Path:
        """Return the absolute path that a name means, without accessing the file system.

        Raises:
            FileError: It cannot be a path.
        """
        if len(raw_path) > MAX_PATH_CHARACTERS:
            raise InvalidPathError(f"the path is longer than {MAX_PATH_CHARACTERS:,} characters")
        return lexical_path(raw_path, self.workspace, self.home)

    async def resolve(self, raw_path: str) -> ResolvedPath:
        """Resolve a name to a path, with its links followed.

        Raises:
            FileError: It cannot be a path.
        """
        self.lexical_path(raw_path)  # checks the length before any link is followed
        return await self.files.resolve(raw_path)

    async def can_preview(self, *resolved_paths: ResolvedPath) -> bool:
        """Whether the texts of these files may be shown before permission was asked.

        Both the path and the file that it leads to must be unprotected: a link in the workspace
        could lead to a secret.
        """
        for resolved in resolved_paths:
            if not resolved.is_in_workspace:
                return False
            for path in dict.fromkeys((resolved.path, resolved.real)):
                if not await self.gate.can_preview(path):
                    return False
        return True

    @asynccontextmanager
    async def tracking_file_changes(self) -> AsyncGenerator[None]:
        """Wrap something other than an edit that may change any file, such as a server's tool.

        Takes the checkpoint's snapshot before, and marks editor buffers as possibly stale.
        """
        async with self.running_command():
            yield

    @asynccontextmanager
    async def running_command(self) -> AsyncGenerator[CommandRun]:
        """Wrap a command as `tracking_file_changes` does; its changes can be asked for later."""
        # Before and after: a buffer that was read while the command ran may also be stale.
        async with self.checkpoints.command() as run:
            self.files.note_command()
            try:
                yield run
            finally:
                self.files.note_command()

    def display_path(self, path: Path) -> str:
        """Return a path as it is displayed: relative to the session's directory if inside it."""
        return display_path(path, self.workspace.cwd)

    def describe_file(
        self, verb: str, raw_path: str | None, line: int | None = None
    ) -> CallDescription | None:
        """Return the title that names a call's file; None while its path is incomplete."""
        if raw_path is None:
            return None
        try:
            path = self.lexical_path(raw_path)
        except FileError:
            return CallDescription(f"{verb} {raw_path}")
        suffix = f" from line {line}" if line and line > 1 else ""
        title = f"{verb} {self.display_path(path)}{suffix}"
        return CallDescription(title, (Location(str(path), line),))

    def locations_of(self, raw_path: str) -> tuple[Location, ...]:
        """Return the location that a name means; none if it cannot be a path."""
        try:
            return (Location(str(self.lexical_path(raw_path))),)
        except FileError:
            return ()


def read_question(
    call_id: str, title: str, *resolved_paths: ResolvedPath, kind: CallKind = "read"
) -> PermissionQuestion:
    """Return the question whether a call may read files."""
    locations = tuple(Location(str(resolved.path)) for resolved in resolved_paths)
    effect = ReadFiles(tuple(map(target_for, resolved_paths)))
    return PermissionQuestion(call_id, effect, title, kind, locations=locations)


class EditFlow:
    """The edit of one tool call, of one file or several."""

    def __init__(self, services: EditServices, reporter: CallReporter) -> None:
        self._services = services
        self._files = services.files
        self._reporter = reporter
        self.applied_outcome: ToolOutcome | None = None
        """Result of the edit once it is applied; must be reported even if the call is cancelled."""
        self._baseline: ProblemBaseline | None = None
        self._changed_paths: tuple[Path, ...] = ()
        self._changed_files: list[TouchedFile] = []
        """The files that were changed, as they are since, for the checkpoint."""

    async def run(
        self, paths: Sequence[Path], planner: ChangePlanner, *, can_retry: bool = False
    ) -> ToolOutcome:
        """Plan, show, ask and apply; with `can_retry`, start again if a file changed in between.

        New problems are waited for after the files are unlocked, so that other edits can go on.
        """
        try:
            async with AsyncExitStack() as lock_stack:
                await self._lock_files(paths, lock_stack)
                for _ in range(MAX_ATTEMPTS if can_retry else 1):
                    changes = await self._plan_changes(planner, paths)
                    outcome = await self._attempt(changes, can_retry=can_retry)
                    if outcome is not None:
                        break
                else:
                    reason = "the file keeps changing; nothing was written"
                    return ToolOutcome(reason, is_error=True)
        except FileError:
            # Some of several files may have been changed before the error. If the checkpoint did
            # not know their new contents, an undo would take these for the user's own changes.
            await self._services.checkpoints.after_edit(self._changed_files)
            raise
        problem_finder = self._services.problem_finder
        if outcome is not self.applied_outcome or problem_finder is None or self._baseline is None:
            return outcome
        # New problems are waited for after the files are unlocked, so that other edits can go on.
        new_problems = await problem_finder.describe_new(self._baseline, self._changed_paths)
        if not new_problems:
            return outcome
        shown = (*(outcome.shown or ()), Text(new_problems))
        return replace(outcome, text=f"{outcome.text}\n\n{new_problems}", shown=shown)

    async def _plan_changes(
        self, plan: ChangePlanner, paths: Sequence[Path]
    ) -> Sequence[PlannedChange]:
        """Compute the changes.

        Security: the error that a change does not fit a file reveals parts of the file's content
        to the model. For a protected file, permission to read is asked before it is returned.

        Raises:
            FileError: The changes cannot be computed, or reading was refused.
        """
        try:
            return await plan()
        except (FileError, PatchError) as error:
            resolved_paths = [await self._files.resolve(str(path)) for path in paths]
            if not await self._services.can_preview(*resolved_paths):
                names = ", ".join(self._services.display_path(path) for path in paths)
                question = read_question(self._reporter.call_id, f"Read {names}", *resolved_paths)
                refusal = await self._services.gate.authorize(question)
                if refusal is not None:
                    raise FileError(refusal.reason) from None
            raise FileError(str(error)) from error

    async def _lock_files(self, paths: Sequence[Path], lock_stack: AsyncExitStack) -> None:
        """Wait for the file locks; after a moment, give up the place in the question queue.

        This prevents a deadlock: the call that holds the file may be waiting for its turn to ask,
        behind this call, which waits for the file.
        """

        async def yield_queue_later() -> None:
            await anyio.sleep(YIELD_QUEUE_SECONDS)
            self._services.gate.yield_queue(self._reporter.call_id)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(yield_queue_later)
            await lock_stack.enter_async_context(self._files.lock(paths))
            tasks.cancel_scope.cancel()

    async def _attempt(
        self, changes: Sequence[PlannedChange], *, can_retry: bool
    ) -> ToolOutcome | None:
        """Show, ask and apply; None if a file had changed and nothing was applied."""
        if all(change.is_needless for change in changes):
            names = ", ".join(self._services.display_path(each.target.path) for each in changes)
            return ToolOutcome(f"{names} already has exactly this text; nothing was written")
        blocks = tuple(block for change in changes for block in change.diffs())
        question = self._build_write_question(changes, blocks)
        await self._reporter.describe(question.title, question.locations)
        touched = [resolved for change in changes for resolved in change.paths]
        can_preview = await self._services.can_preview(*touched)
        if can_preview:  # a protected file's diff goes into the permission question only
            await self._reporter.show(blocks)
        refusal = await self._services.gate.authorize(question)
        if refusal is not None:
            # The reason too: many clients show nothing of a failed call but its content.
            shown = (*blocks, Text(refusal.reason)) if can_preview else None
            return ToolOutcome(refusal.reason, is_error=True, shown=shown)
        if not can_preview:
            await self._reporter.show(blocks)
        await self._reporter.mark_in_progress()
        problem_finder = self._services.problem_finder
        if problem_finder is not None:
            self._changed_paths = tuple(c.target.path for c in changes if c.text is not None)
            self._baseline = problem_finder.record_baseline(self._changed_paths)
        # The checkpoint must be on disk before the change, else a crash in between loses the file.
        originals = await to_thread.run_sync(
            lambda: [original for change in changes for original in change.original_files()]
        )
        try:
            async with self._services.checkpoints.editing(originals):
                summaries = await self._apply(changes)
        except FileChangedError:
            if can_retry:
                return None
            raise
        touched_paths = tuple(str(resolved.path) for resolved in touched)
        # Set before the next await: if that is cancelled, the result must still be reported.
        self.applied_outcome = ToolOutcome(
            "\n".join(summaries), shown=blocks, touched_paths=touched_paths
        )
        await self._services.checkpoints.after_edit(self._changed_files)
        return self.applied_outcome

    def _build_write_question(
        self, changes: Sequence[PlannedChange], blocks: tuple[FileDiff, ...]
    ) -> PermissionQuestion:
        names = [self._services.display_path(change.target.path) for change in changes]
        verb, kind = "Edit", "edit"
        if all(change.text is None for change in changes):
            verb, kind = "Delete", "delete"
        elif all(change.moved_to is not None for change in changes):
            verb, kind = "Move", "move"
        elif all(change.base is None for change in changes):
            verb = "Create"
        title = f"{verb} {names[0]}" if len(names) == 1 else f"{verb} {len(names)} files"
        if len(changes) == 1 and changes[0].moved_to is not None:
            title = f"{verb} {self._services.display_path(changes[0].source.path)} to {names[0]}"
        resolved_paths = tuple(resolved for change in changes for resolved in change.paths)
        return PermissionQuestion(
            call_id=self._reporter.call_id,
            effect=WriteFiles(tuple(target_for(resolved) for resolved in resolved_paths)),
            title=title,
            kind=kind,
            content=blocks,
            locations=tuple(Location(str(c.target.path), c.line) for c in changes),
        )

    async def _apply(self, changes: Sequence[PlannedChange]) -> list[str]:
        """Apply all changes in order.

        Raises:
            FileChangedError: A file has changed since it was read, and nothing was applied.
            FileError: A change cannot be applied; the reason lists the changes applied before it.
        """
        summaries: list[str] = []
        for change in changes:
            try:
                summaries.append(await self._apply_one(change))
            except FileError as error:
                if not summaries:  # keeps a FileChangedError as such: nothing was applied, so retry
                    raise
                reason = f"{error.reason}\ndone before that:\n" + "\n".join(summaries)
                raise FileError(reason) from error
        return summaries

    async def _apply_one(self, change: PlannedChange) -> str:
        base, name = change.base, self._services.display_path(change.source.path)
        if change.text is None and base is not None:
            await self._files.delete(change.source, base)
            self._changed_files.append(removed_file(change.source))
            self._services.guard.seen.forget(str(change.source.real))
            return f"deleted {name}"
        if change.moved_to is not None and base is not None:
            moved = await self._files.move(change.source, change.moved_to, base)
            self._changed_files.append(removed_file(change.source))
            self._changed_files.append(written_file(change.moved_to, moved))
            self._services.guard.seen.move(str(change.source.real), str(change.moved_to.real))
            name = f"{name} to {self._services.display_path(change.moved_to.path)}"
            base = await self._files.read_if_exists(change.moved_to)
        text = change.text or ""
        if base is None or base.text != text or change.moved_to is None:
            written = await self._files.write(change.target, text, base)
            self._changed_files.append(written_file(change.target, written))
            self._note_seen(change, base, written)
        verb = "moved" if change.moved_to else "created" if base is None else "edited"
        return f"{verb} {name}{change.note}"

    def _note_seen(
        self, change: PlannedChange, base: FileSnapshot | None, written: FileSnapshot
    ) -> None:
        """Note what the model has seen of a file that it changed."""
        seen, path, text = self._services.guard.seen, str(change.target.real), change.text or ""
        # An editor may have formatted the file on saving: then the model has seen its own text only
        # and the file counts as changed.
        if convert_newlines(written.text, "\n") == convert_newlines(text, "\n"):
            text = written.text
        text = visible_text(change.target.real, text)
        if base is None or change.written_lines is None:
            seen.note_written(path, text)
        else:
            before = visible_text(change.source.real, base.text)
            seen.note_patched(path, before, text, change.written_lines)


def _mark_deletion(blocks: tuple[FileDiff, ...]) -> tuple[FileDiff, ...]:
    return tuple(replace(block, is_deletion=True) for block in blocks)
