"""What every edit has in common: the exact diff is shown, leave is asked, and then it is done.

A change is worked out under the locks of its files, from what they are at that moment. If one has
moved on when it is to be written, a change that can be worked out anew is, shown and asked anew.
Of a file that nobody touches unasked, only the question tells anything before leave is given.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field, replace
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.checkpoints.turns import Touched
from acp_server.frozen import frozen
from acp_server.permissions.effects import ReadFiles, WriteFiles
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import Question
from acp_server.session.session import Workspace
from acp_server.tools.diagnosing import Before, Diagnosis
from acp_server.tools.diffs import exact_diff
from acp_server.tools.files.desk import FileDesk
from acp_server.tools.files.errors import ChangedMeanwhileError, FileError, InvalidPathError
from acp_server.tools.files.paths import Place, lexical_path
from acp_server.tools.files.snapshot import Snapshot
from acp_server.tools.keeping import Keeping, NoKeeping, gone_from, taken_away, written_to
from acp_server.tools.places import shown, target_of
from acp_server.tools.report import Report
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind, FileDiff, Location
from acp_server.turn.ports import Outcome
from skills_store.patching import PatchError

MOST_ATTEMPTS = 5
STEP_ASIDE_SECONDS = 0.1
"""How long a call may wait for its files and keep its place among the questions."""
MOST_PATH_CHARACTERS = 4_096
"""No system takes more, and following the links of far more takes forever."""


@frozen
class Change:
    """What is to become of one file: its new text, None to delete it; perhaps a new place."""

    place: Place
    base: Snapshot | None
    text: str | None
    moved_to: Place | None = None
    line: int = 1
    note: str = ""
    """Said to the model, behind what was done."""

    def blocks(self) -> tuple[FileDiff, ...]:
        """Return the exact diff."""
        old_text = None if self.base is None else self.base.text
        path = str(self.place.path)
        if self.moved_to is None:
            return exact_diff(path, old_text, self.text or "")
        gone = exact_diff(path, old_text, "")
        return (*gone, *exact_diff(str(self.moved_to.path), None, self.text or ""))

    @property
    def target(self) -> Place:
        """Where the file is afterwards."""
        return self.moved_to or self.place

    @property
    def places(self) -> tuple[Place, ...]:
        """All the places that it touches."""
        return (self.place, self.moved_to) if self.moved_to else (self.place,)

    def starts(self) -> tuple[Touched, ...]:
        """Return its files as they are before it. It blocks."""
        if self.text is not None and self.moved_to is None:
            return (written_to(self.place, self.base),)
        gone = taken_away(self.place, self.base)
        return (gone, written_to(self.moved_to, None)) if self.moved_to else (gone,)


Plan = Callable[[], Awaitable[Sequence[Change]]]


@frozen
class Workshop:
    """What the edits of a session work with."""

    desk: FileDesk
    gate: Gate
    workspace: Workspace
    home: Path
    diagnosis: Diagnosis | None = None
    """Looks for what an edit has made worse."""
    keeping: Keeping = field(default_factory=NoKeeping)
    """Keeps what files were before a turn changed them."""

    def path_of(self, given: str) -> Path:
        """Return the absolute path that a name means, without asking the file system.

        Raises:
            FileError: it cannot be a path.
        """
        if len(given) > MOST_PATH_CHARACTERS:
            raise InvalidPathError(f"the path is longer than {MOST_PATH_CHARACTERS:,} characters")
        return lexical_path(given, self.workspace, self.home)

    async def place(self, given: str) -> Place:
        """Return the place that a name means.

        Raises:
            FileError: it cannot be a path.
        """
        self.path_of(given)
        return await self.desk.place(given)

    async def may_preview(self, place: Place) -> bool:
        """Whether a file's text may be shown before anybody was asked."""
        if not place.is_inside or not await self.gate.may_preview(place.path):
            return False
        return place.real == place.path or await self.gate.may_preview(place.real)

    @asynccontextmanager
    async def changing(self) -> AsyncGenerator[None]:
        """Be prepared for what is no edit and may change any file inside: a command, a call."""
        await self.keeping.before_command()
        self.desk.note_command()
        try:
            yield
        finally:
            self.desk.note_command()

    def shown(self, path: Path) -> str:
        """Return a path as it is shown."""
        return shown(path, self.workspace.cwd)


class Edit:
    """The edit of one call: of one file or of several."""

    def __init__(self, workshop: Workshop, report: Report) -> None:
        self._workshop = workshop
        self._desk = workshop.desk
        self._report = report
        self.done: Outcome | None = None
        """What was done, from when it was; a cancel behind it does not undo it."""
        self._before: Before | None = None
        self._changed: tuple[Path, ...] = ()
        self._ends: list[Touched] = []
        """The files that were changed, as they are since."""

    async def carry_out(
        self, paths: Sequence[Path], plan: Plan, *, may_redo: bool = False
    ) -> Outcome:
        """Plan, show, ask and do; with `may_redo`, again when a file moved on meanwhile.

        What the edit has made worse is waited for when its files are free for others again.
        """
        try:
            async with AsyncExitStack() as held:
                await self._take(paths, held)
                outcome = await self._attempts(paths, plan, may_redo=may_redo)
        except FileError as error:
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
        """Add to what was done what is wrong since."""
        diagnosis = self._workshop.diagnosis
        if diagnosis is None or self._before is None:
            return outcome
        news = await diagnosis.news(self._before, self._changed)
        if not news:
            return outcome
        text, shown = f"{outcome.text}\n\n{news}", (*(outcome.shown or ()), Text(news))
        return replace(outcome, text=text, shown=shown)

    def _note(self, changes: Sequence[Change]) -> None:
        """Note which files are about to change, and what is wrong with them until then."""
        diagnosis = self._workshop.diagnosis
        if diagnosis is not None:
            self._changed = tuple(c.target.path for c in changes if c.text is not None)
            self._before = diagnosis.begin(self._changed)

    async def _planned(self, plan: Plan, paths: Sequence[Path]) -> Sequence[Change]:
        """Return the changes.

        That a change does not fit a file tells of what is in it. Where nobody may look unasked,
        leave to read is asked before the model hears of it.

        Raises:
            FileError: there is no such change.
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
        """Wait for the files, and soon without a place among the gate's questions.

        Else two calls could wait for each other: one for the file, one for its turn to ask.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._step_aside)
            await held.enter_async_context(self._desk.holding(paths))
            tasks.cancel_scope.cancel()

    async def _step_aside(self) -> None:
        await anyio.sleep(STEP_ASIDE_SECONDS)
        self._workshop.gate.step_aside(self._report.call_id)

    async def _attempt(self, changes: Sequence[Change], *, may_redo: bool) -> Outcome | None:
        """Show, ask and do; None when a file had moved on and nothing was done."""
        blocks = tuple(block for change in changes for block in change.blocks())
        question = self._question(changes, blocks)
        await self._report.describe(question.title, question.locations)
        is_open = await self._are_shown([p for change in changes for p in change.places])
        if is_open:
            await self._report.show(blocks)
        refusal = await self._workshop.gate.pass_through(question)
        if refusal is not None:
            shown = blocks if is_open else None
            return Outcome(refusal.reason, is_error=True, shown=shown)
        if not is_open:
            await self._report.show(blocks)
        await self._report.begin()
        self._note(changes)
        starts = await to_thread.run_sync(_starts, changes)
        try:
            async with self._workshop.keeping.editing(starts):
                done = await self._do(changes)
        except ChangedMeanwhileError:
            if may_redo:
                return None
            raise
        touched = tuple(str(place.path) for change in changes for place in change.places)
        self.done = Outcome("\n".join(done), shown=blocks, touched=touched)
        await self._workshop.keeping.after_edit(self._ends)
        return self.done

    async def _are_open(self, paths: Sequence[Path]) -> bool:
        """Whether all these files may be told of before anybody was asked."""
        return await self._are_shown([await self._desk.place(str(path)) for path in paths])

    async def _are_shown(self, places: Sequence[Place]) -> bool:
        """Whether all files that were looked at may be told of; where they led then counts."""
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
        """Do all changes.

        Raises:
            ChangedMeanwhileError: a file is not what it was, and nothing was done.
            FileError: one change cannot be done; the reason tells what was done before it.
        """
        done: list[str] = []
        for change in changes:
            try:
                done.append(await self._do_one(change))
            except FileError as error:
                if not done:
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
    """Return what is done, as the title's verb and as the field's kind."""
    if all(change.text is None for change in changes):
        return "Delete", "delete"
    if all(change.moved_to is not None for change in changes):
        return "Move", "move"
    if all(change.base is None for change in changes):
        return "Create", "edit"
    return "Edit", "edit"
