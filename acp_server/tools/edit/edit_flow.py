"""Shared edit flow: show the diff, ask permission, apply.

A change is computed while its files are locked, from their contents at that moment. If a file has
changed by the time it is written, a change that can be recomputed is computed, shown and asked
about again. A protected file's content appears only in the permission question until the user
agrees.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field, replace
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.checkpoints.turn_recorder import Touched
from acp_server.permissions.effects import ReadFiles, WriteFiles
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import Question
from acp_server.session.session import Workspace
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.call_reporter import Report
from acp_server.tools.display_paths import shown, target_of
from acp_server.tools.edit.checkpoint_hooks import (
    Keeping,
    NoKeeping,
    gone_from,
    taken_away,
    written_to,
)
from acp_server.tools.edit.diffs import exact_diff
from acp_server.tools.edit.new_problems import Before, Diagnosis
from acp_server.tools.files.desk import FileDesk
from acp_server.tools.files.errors import ChangedMeanwhileError, FileError, InvalidPathError
from acp_server.tools.files.paths import Place, lexical_path
from acp_server.tools.files.snapshot import Snapshot
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind, FileDiff, Location
from acp_server.turn.ports import Outcome
from skills_store.patching import PatchError

MOST_ATTEMPTS = 5
STEP_ASIDE_SECONDS = 0.1
"""How long a call may wait for its files before it gives up its place in the question queue."""
MOST_PATH_CHARACTERS = 4_096
"""PATH_MAX on Linux. No system takes more, and resolving the links of far more takes forever."""


@frozen
class Change:
    """Planned change of one file: its new text (None deletes it) and perhaps a new path.

    `base` is the file that the change was computed from, None for a new file.
    """

    place: Place
    base: Snapshot | None
    text: str | None
    moved_to: Place | None = None
    line: int = 1
    note: str = ""
    """Appended to the result line for the model."""

    def blocks(self) -> tuple[FileDiff, ...]:
        """Return the exact diff; a move is a deletion and a creation."""
        old_text = None if self.base is None else self.base.text
        path = str(self.place.path)
        if self.moved_to is None:
            return exact_diff(path, old_text, self.text or "")
        gone = exact_diff(path, old_text, "")
        return (*gone, *exact_diff(str(self.moved_to.path), None, self.text or ""))

    @property
    def target(self) -> Place:
        """Path of the file after the change."""
        return self.moved_to or self.place

    @property
    def places(self) -> tuple[Place, ...]:
        """All paths that the change touches."""
        return (self.place, self.moved_to) if self.moved_to else (self.place,)

    def starts(self) -> tuple[Touched, ...]:
        """Return its files as they are before the change, for the checkpoint. It blocks."""
        if self.text is not None and self.moved_to is None:
            return (written_to(self.place, self.base),)
        gone = taken_away(self.place, self.base)
        return (gone, written_to(self.moved_to, None)) if self.moved_to else (gone,)


Plan = Callable[[], Awaitable[Sequence[Change]]]


@frozen
class Workshop:
    """Dependencies of the edits of one session, or of one sub-agent."""

    desk: FileDesk
    gate: Gate
    workspace: Workspace
    home: Path
    diagnosis: Diagnosis | None = None
    """Finds the problems that an edit introduced."""
    keeping: Keeping = field(default_factory=NoKeeping)
    """Records files in a checkpoint before a turn changes them."""

    def path_of(self, given: str) -> Path:
        """Return the absolute path that a name means, without accessing the file system.

        Raises:
            FileError: It cannot be a path.
        """
        if len(given) > MOST_PATH_CHARACTERS:
            raise InvalidPathError(f"the path is longer than {MOST_PATH_CHARACTERS:,} characters")
        return lexical_path(given, self.workspace, self.home)

    async def place(self, given: str) -> Place:
        """Resolve a name to a path, with its links followed.

        Raises:
            FileError: It cannot be a path.
        """
        self.path_of(given)  # checks the length before any link is followed
        return await self.desk.place(given)

    async def may_preview(self, place: Place) -> bool:
        """Whether a file's text may be shown before permission was asked.

        Both the path and the file that it leads to must be unprotected: a link in the workspace
        could lead to a secret.
        """
        if not place.is_inside or not await self.gate.may_preview(place.path):
            return False
        return place.real == place.path or await self.gate.may_preview(place.real)

    @asynccontextmanager
    async def changing(self) -> AsyncGenerator[None]:
        """Wrap something other than an edit that may change any file: a command, a server's tool.

        Takes the checkpoint's snapshot before, and marks editor buffers as possibly stale.
        """
        await self.keeping.before_command()
        # Before and after: a buffer that was read while the command ran may also be stale.
        self.desk.note_command()
        try:
            yield
        finally:
            self.desk.note_command()

    def shown(self, path: Path) -> str:
        """Return a path as it is displayed: relative to the session's directory if inside it."""
        return shown(path, self.workspace.cwd)


class Edit:
    """The edit of one tool call, of one file or several."""

    def __init__(self, workshop: Workshop, report: Report) -> None:
        self._workshop = workshop
        self._desk = workshop.desk
        self._report = report
        self.done: Outcome | None = None
        """Result of the edit once it is applied; must be reported even if the call is cancelled."""
        self._before: Before | None = None
        self._changed: tuple[Path, ...] = ()
        self._ends: list[Touched] = []
        """The files that were changed, as they are since, for the checkpoint."""

    async def carry_out(
        self, paths: Sequence[Path], plan: Plan, *, may_redo: bool = False
    ) -> Outcome:
        """Plan, show, ask and apply; with `may_redo`, start again if a file changed in between.

        New problems are waited for after the files are unlocked, so that other edits can go on.
        """
        try:
            async with AsyncExitStack() as held:
                await self._take(paths, held)
                outcome = await self._attempts(paths, plan, may_redo=may_redo)
        except FileError as error:
            # Some of several files may have been changed before the error. If the checkpoint did
            # not know their new contents, an undo would take these for the user's own changes.
            await self._workshop.keeping.after_edit(self._ends)
            return Outcome(error.reason, is_error=True)
        return await self._diagnosed(outcome) if outcome is self.done else outcome

    async def _attempts(self, paths: Sequence[Path], plan: Plan, *, may_redo: bool) -> Outcome:
        for _ in range(MOST_ATTEMPTS if may_redo else 1):
            changes = await self._planned(plan, paths)
            outcome = await self._attempt(changes, may_redo=may_redo)
            if outcome is not None:
                return outcome
        return Outcome("the file keeps changing; nothing was written", is_error=True)

    async def _diagnosed(self, outcome: Outcome) -> Outcome:
        """Add the new problems to the outcome of an applied edit."""
        diagnosis = self._workshop.diagnosis
        if diagnosis is None or self._before is None:
            return outcome
        news = await diagnosis.news(self._before, self._changed)
        if not news:
            return outcome
        text, shown = f"{outcome.text}\n\n{news}", (*(outcome.shown or ()), Text(news))
        return replace(outcome, text=text, shown=shown)

    def _note(self, changes: Sequence[Change]) -> None:
        """Record which files are about to change, and their known problems."""
        diagnosis = self._workshop.diagnosis
        if diagnosis is not None:
            self._changed = tuple(c.target.path for c in changes if c.text is not None)
            self._before = diagnosis.begin(self._changed)

    async def _planned(self, plan: Plan, paths: Sequence[Path]) -> Sequence[Change]:
        """Compute the changes.

        Security: the error that a change does not fit a file reveals parts of the file's content
        to the model. For a protected file, permission to read is asked before it is returned.

        Raises:
            FileError: The changes cannot be computed, or reading was refused.
        """
        try:
            return await plan()
        except (FileError, PatchError) as error:
            if not await self._are_open(paths):
                refusal = await self._workshop.gate.pass_through(await self._reading(paths))
                if refusal is not None:
                    raise FileError(refusal.reason) from None
            raise FileError(str(error)) from error

    async def _reading(self, paths: Sequence[Path]) -> Question:
        places = [await self._desk.place(str(path)) for path in paths]
        return Question(
            call_id=self._report.call_id,
            effect=ReadFiles(tuple(target_of(place) for place in places)),
            title=f"Read {', '.join(self._workshop.shown(path) for path in paths)}",
            kind="read",
            locations=tuple(Location(str(path)) for path in paths),
        )

    async def _take(self, paths: Sequence[Path], held: AsyncExitStack) -> None:
        """Wait for the file locks; after a moment, give up the place in the question queue.

        This prevents a deadlock: the call that holds the file may be waiting for its turn to ask,
        behind this call, which waits for the file.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._step_aside)
            await held.enter_async_context(self._desk.holding(paths))
            tasks.cancel_scope.cancel()

    async def _step_aside(self) -> None:
        await anyio.sleep(STEP_ASIDE_SECONDS)
        self._workshop.gate.step_aside(self._report.call_id)

    async def _attempt(self, changes: Sequence[Change], *, may_redo: bool) -> Outcome | None:
        """Show, ask and apply; None if a file had changed and nothing was applied."""
        blocks = tuple(block for change in changes for block in change.blocks())
        question = self._question(changes, blocks)
        await self._report.describe(question.title, question.locations)
        is_open = await self._are_shown([p for change in changes for p in change.places])
        if is_open:  # a protected file's diff goes into the permission question only
            await self._report.show(blocks)
        refusal = await self._workshop.gate.pass_through(question)
        if refusal is not None:
            shown = blocks if is_open else None
            return Outcome(refusal.reason, is_error=True, shown=shown)
        if not is_open:
            await self._report.show(blocks)
        await self._report.begin()
        self._note(changes)
        # The checkpoint must be on disk before the change, else a crash in between loses the file.
        starts = await to_thread.run_sync(_starts, changes)
        try:
            async with self._workshop.keeping.editing(starts):
                done = await self._do(changes)
        except ChangedMeanwhileError:
            if may_redo:
                return None
            raise
        touched = tuple(str(place.path) for change in changes for place in change.places)
        # Set before the next await: if that is cancelled, the result must still be reported.
        self.done = Outcome("\n".join(done), shown=blocks, touched=touched)
        await self._workshop.keeping.after_edit(self._ends)
        return self.done

    async def _are_open(self, paths: Sequence[Path]) -> bool:
        """Whether nothing about these paths needs permission to read, where they lead now."""
        return await self._are_shown([await self._desk.place(str(path)) for path in paths])

    async def _are_shown(self, places: Sequence[Place]) -> bool:
        """Whether all these files may be previewed, where they led when they were resolved."""
        for place in places:
            if not await self._workshop.may_preview(place):
                return False
        return True

    def _question(self, changes: Sequence[Change], blocks: tuple[FileDiff, ...]) -> Question:
        names = [self._workshop.shown(change.target.path) for change in changes]
        verb, kind = _deed(changes)
        title = f"{verb} {names[0]}" if len(names) == 1 else f"{verb} {len(names)} files"
        if len(changes) == 1 and changes[0].moved_to is not None:
            title = f"{verb} {self._workshop.shown(changes[0].place.path)} to {names[0]}"
        places = tuple(place for change in changes for place in change.places)
        return Question(
            call_id=self._report.call_id,
            effect=WriteFiles(tuple(target_of(place) for place in places)),
            title=title,
            kind=kind,
            content=blocks,
            locations=tuple(Location(str(c.target.path), c.line) for c in changes),
        )

    async def _do(self, changes: Sequence[Change]) -> list[str]:
        """Apply all changes in order.

        Raises:
            FileChangedError: A file has changed since it was read, and nothing was applied.
            FileError: A change cannot be applied; the reason lists the changes applied before it.
        """
        done: list[str] = []
        for change in changes:
            try:
                done.append(await self._do_one(change))
            except FileError as error:
                if not done:  # keeps a FileChangedError as such: nothing was applied, so retry
                    raise
                reason = f"{error.reason}\ndone before that:\n" + "\n".join(done)
                raise FileError(reason) from error
        return done

    async def _do_one(self, change: Change) -> str:
        base, name = change.base, self._workshop.shown(change.place.path)
        if change.text is None and base is not None:
            await self._desk.delete(change.place, base)
            self._ends.append(gone_from(change.place))
            return f"deleted {name}"
        if change.moved_to is not None and base is not None:
            moved = await self._desk.move(change.place, change.moved_to, base)
            self._ends.append(gone_from(change.place))
            self._ends.append(written_to(change.moved_to, moved))
            name = f"{name} to {self._workshop.shown(change.moved_to.path)}"
            base = await self._desk.look(change.moved_to)
        text = change.text or ""
        if base is None or base.text != text or change.moved_to is None:
            written = await self._desk.write(change.target, text, base)
            self._ends.append(written_to(change.target, written.snapshot))
        verb = "moved" if change.moved_to else "created" if base is None else "edited"
        return f"{verb} {name}{change.note}"


def _starts(changes: Sequence[Change]) -> tuple[Touched, ...]:
    return tuple(touched for change in changes for touched in change.starts())


def _deed(changes: Sequence[Change]) -> tuple[str, CallKind]:
    """Return the verb for the title, and the ACP tool kind."""
    if all(change.text is None for change in changes):
        return "Delete", "delete"
    if all(change.moved_to is not None for change in changes):
        return "Move", "move"
    if all(change.base is None for change in changes):
        return "Create", "edit"
    return "Edit", "edit"
