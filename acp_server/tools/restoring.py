"""The files of one turn, made again what they were before it: asked about, kept, done.

Everything passes the gate as any write. What somebody has changed since the turn is asked about by
itself, in every mode. What is about to go is kept before, so that it can be brought back.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from anyio import to_thread

from acp_server.checkpoints.disk import Original, put, remove_empty_folder
from acp_server.checkpoints.errors import CheckpointError, LostError
from acp_server.checkpoints.keeper import Keeper
from acp_server.checkpoints.turns import Touched
from acp_server.permissions.effects import RestoreFiles, Target
from acp_server.permissions.questions import Question
from acp_server.tools.editing import Workshop
from acp_server.tools.files.errors import FileError
from acp_server.tools.places import target_of
from acp_server.tools.report import Report
from acp_server.tools.restore_plan import Plan, Planner, Step
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallAppeared, CallChanged, CallContent, Location
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId

NAME = "undo"
MOST_SINGLE_QUESTIONS = 10
"""Of files that were changed since, so many are asked about one by one; more are asked together."""
AT_A_TIME = 100
OWNER_WRITES = 0o200


@dataclass(slots=True)
class Restored:
    """What has become of the files."""

    done: list[str] = field(default_factory=list[str])
    left: dict[str, str] = field(default_factory=dict[str, str])
    """Files that are as they were, with the reason."""


class Restorer:
    """Brings the files of one turn back."""

    def __init__(self, workshop: Workshop, keeper: Keeper, sink: Sink, new_id: NewId) -> None:
        self._workshop = workshop
        self._keeper = keeper
        self._planner = Planner(workshop, keeper)
        self._sink = sink
        self._new_id = new_id
        self.restored = Restored()
        self._folders: Sequence[Path] = ()
        """Those that the turn has made, the deepest first."""

    async def restore(self, plan: Plan, notes: Sequence[str], folders: Sequence[str]) -> Restored:
        """Ask, and do what may be done; `notes` are shown with the first question."""
        self._folders = [Path(each) for each in sorted(folders, key=len, reverse=True)]
        self.restored.left |= plan.obstacles
        groups = [(plan.plain, False), *((group, True) for group in _grouped(plan.changed))]
        told = tuple(Text(note) for note in notes)
        for steps, is_changed in groups:
            if steps:
                await self._restore_some(steps, told, is_changed=is_changed)
                told = ()
        await to_thread.run_sync(_remove_empty, self._folders)
        return self.restored

    async def _restore_some(
        self, steps: Sequence[Step], told: tuple[Text, ...], *, is_changed: bool
    ) -> None:
        """Ask about some files in one question, as a call of its own."""
        report = Report(self._new_id(), self._sink)
        question = self._question(report.call_id, steps, is_changed=is_changed)
        await self._sink.emit(CallAppeared(report.call_id, NAME, "edit", question.title))
        shown: tuple[CallContent, ...] = told
        is_done = False
        try:
            await report.describe(question.title, question.locations)
            shown = (*told, *await self._planner.blocks(steps))
            is_done = await self._do_if_allowed(report, question, steps, shown)
        finally:
            status = "completed" if is_done else "failed"
            self._sink.emit_now(CallChanged(report.call_id, status))

    async def _do_if_allowed(
        self,
        report: Report,
        question: Question,
        steps: Sequence[Step],
        shown: tuple[CallContent, ...],
    ) -> bool:
        """Ask and do; return whether all was done."""
        is_open = await self._are_open(steps)
        if is_open:
            await report.show(shown)
        refusal = await self._workshop.gate.pass_through(replace(question, content=shown))
        if refusal is not None:
            self.restored.left |= dict.fromkeys((str(s.path) for s in steps), refusal.reason)
            return False
        if not is_open:
            await report.show(shown)
        await report.begin()
        return await self._do(steps)

    async def _are_open(self, steps: Sequence[Step]) -> bool:
        """Whether all these files may be told of before anybody was asked."""
        for step in steps:
            if not await self._workshop.may_preview(step.place):
                return False
        return True

    def _question(self, call_id: str, steps: Sequence[Step], *, is_changed: bool) -> Question:
        names = [self._workshop.shown(step.path) for step in steps]
        what = names[0] if len(names) == 1 else f"{len(names)} files"
        since = ", which has changed since" if is_changed else ""
        return Question(
            call_id=call_id,
            effect=RestoreFiles(tuple(map(_target, steps)), tuple(names) if is_changed else ()),
            title=f"Bring back {what}{since}",
            kind="edit",
            locations=tuple(Location(str(step.path)) for step in steps),
        )

    async def _do(self, steps: Sequence[Step]) -> bool:
        """Do it, what is there now kept before; return whether all could be done."""
        count = len(self.restored.left)
        for start in range(0, len(steps), AT_A_TIME):
            some = steps[start : start + AT_A_TIME]
            try:
                await self._keeper.secure(await to_thread.run_sync(_kept, some))
            except (CheckpointError, OSError) as error:
                reason = f"what is there now could not be kept: {error}"
                self.restored.left |= dict.fromkeys((str(step.path) for step in some), reason)
                continue
            done = [touched for step in some if (touched := await self._tried(step)) is not None]
            await self._keeper.after_edit(done)
        return len(self.restored.left) == count

    async def _tried(self, step: Step) -> Touched | None:
        """Bring one file back; None if it could not be."""
        try:
            touched = await self._put(step)
        except (FileError, LostError) as error:
            self.restored.left[str(step.path)] = error.reason
        except OSError as error:
            self.restored.left[str(step.path)] = error.strerror or str(error)
        else:
            self.restored.done.append(str(step.path))
            return touched
        return None

    async def _put(self, step: Step) -> Touched:
        desk, wanted = self._workshop.desk, await self._planner.wanted(step)
        async with desk.holding([step.path]):
            if wanted is not None and self._is_for_editor(step, wanted):
                await desk.put_back(step.place, wanted, step.snapshot)
                return Touched(step.path, wanted)
            if step.wanted is not None and step.on_disk is None:
                below = [each for each in self._folders if each.is_relative_to(step.path)]
                await to_thread.run_sync(_remove_empty, below)
            await to_thread.run_sync(put, step.path, wanted, step.on_disk)
            desk.note_command()
        return Touched(step.path, wanted)

    def _is_for_editor(self, step: Step, wanted: Original) -> bool:
        """Whether the editor may know the file: a text under its own name that may be written."""
        if wanted.kind == "link" or step.place.real != step.path:
            return False
        if step.on_disk is not None:
            is_writable = bool(step.on_disk.mode & OWNER_WRITES)
            if step.snapshot is None or not is_writable:
                return False
        elif step.path.is_dir():
            return False
        return self._workshop.desk.can_put_back(step.place, wanted.data)


def _kept(steps: Sequence[Step]) -> tuple[Touched, ...]:
    """Return files as they are now. It blocks.

    Raises:
        OSError: one cannot be read.
    """
    return tuple(Touched(step.path, step.now(), step.is_unsaved) for step in steps)


def _grouped(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Yield what is asked in one question each."""
    if len(steps) > MOST_SINGLE_QUESTIONS:
        yield steps
    else:
        yield from ((step,) for step in steps)


def _target(step: Step) -> Target:
    """Return a file as the gate judges it: what is written is its own path, and nothing behind."""
    return replace(target_of(step.place), stands=step.path)


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove folders that the turn had made, unless something is in them."""
    for folder in folders:
        with suppress(OSError):
            remove_empty_folder(folder)
