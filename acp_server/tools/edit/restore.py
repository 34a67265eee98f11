"""Restores the files of one turn to their state before it: asks, saves a checkpoint, restores.

Every restore passes the permission gate like any other write. A file that was changed since the
turn needs permission of its own, in every mode. The current content is checkpointed first, so that
an undo can be undone.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from anyio import to_thread

from acp_server.checkpoints.errors import CheckpointError, LostError
from acp_server.checkpoints.files import Original, put, remove_empty_folder
from acp_server.checkpoints.manager import Keeper
from acp_server.checkpoints.turn_recorder import Touched
from acp_server.permissions.effects import RestoreFiles, Target
from acp_server.permissions.questions import Question
from acp_server.tools.call_reporter import Report
from acp_server.tools.display_paths import target_of
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.edit.restore_plan import Plan, Planner, Step
from acp_server.tools.files.errors import FileError
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallAppeared, CallChanged, CallContent, Location
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId

NAME = "undo"
MOST_SINGLE_QUESTIONS = 10
"""Up to so many files changed since the turn are asked about one by one; more in one question."""
AT_A_TIME = 100
OWNER_WRITES = 0o200


@dataclass(slots=True)
class Restored:
    """Result of a restore: the restored files and the remaining ones."""

    done: list[str] = field(default_factory=list[str])
    left: dict[str, str] = field(default_factory=dict[str, str])
    """Reasons why files were not restored, by path."""


class Restorer:
    """Restores the files of one turn."""

    def __init__(self, workshop: Workshop, keeper: Keeper, sink: Sink, new_id: NewId) -> None:
        self._workshop = workshop
        self._keeper = keeper
        self._planner = Planner(workshop, keeper)
        self._sink = sink
        self._new_id = new_id
        self.restored = Restored()
        self._folders: Sequence[Path] = ()
        """The directories that the turn created, the deepest first."""

    async def restore(self, plan: Plan, notes: Sequence[str], folders: Sequence[str]) -> Restored:
        """Ask, and restore the permitted files; `notes` are shown with the first question."""
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
        """Ask about some files in one question, in a tool call of its own, and restore them."""
        report = Report(self._new_id(), self._sink)
        question = self._question(report.call_id, steps, is_changed=is_changed)
        await self._sink.emit(CallAppeared(report.call_id, NAME, "edit", question.title))
        shown: tuple[CallContent, ...] = told
        is_done = False
        try:
            await report.describe(question.title, question.locations)
            shown = (*told, *await self._planner.blocks(steps))
            is_done = await self._do_if_allowed(report, question, steps, shown)
        finally:  # also if cancelled: else the editor shows the call as running forever
            status = "completed" if is_done else "failed"
            self._sink.emit_now(CallChanged(report.call_id, status))

    async def _do_if_allowed(
        self,
        report: Report,
        question: Question,
        steps: Sequence[Step],
        shown: tuple[CallContent, ...],
    ) -> bool:
        """Ask and restore; return whether all files were restored."""
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
        """Whether the diffs of all these files may be shown before permission was asked."""
        for step in steps:
            if not await self._workshop.may_preview(step.place):
                return False
        return True

    def _question(self, call_id: str, steps: Sequence[Step], *, is_changed: bool) -> Question:
        names = [self._workshop.shown(step.path) for step in steps]
        what = names[0] if len(names) == 1 else f"{len(names)} files"
        since = " (changed since that turn)" if is_changed else ""
        return Question(
            call_id=call_id,
            effect=RestoreFiles(tuple(map(_target, steps)), tuple(names) if is_changed else ()),
            title=f"Restore {what}{since}",
            kind="edit",
            locations=tuple(Location(str(step.path)) for step in steps),
        )

    async def _do(self, steps: Sequence[Step]) -> bool:
        """Checkpoint the current files, then restore; return whether all could be restored."""
        count = len(self.restored.left)
        for start in range(0, len(steps), AT_A_TIME):
            some = steps[start : start + AT_A_TIME]
            try:
                # The current content must be saved first: without it, the files are not touched.
                await self._keeper.secure(await to_thread.run_sync(_kept, some))
            except (CheckpointError, OSError) as error:
                reason = f"its current content could not be saved: {error}"
                self.restored.left |= dict.fromkeys((str(step.path) for step in some), reason)
                continue
            done = [touched for step in some if (touched := await self._tried(step)) is not None]
            await self._keeper.after_edit(done)
        return len(self.restored.left) == count

    async def _tried(self, step: Step) -> Touched | None:
        """Restore one file; if that fails, note the reason and return None."""
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
            # Through the editor if it may have the file open: else its buffer would be stale.
            if wanted is not None and self._is_for_editor(step, wanted):
                await desk.put_back(step.place, wanted, step.snapshot)
                return Touched(step.path, wanted)
            # The turn may have replaced the file by a directory, which must be removed first.
            if step.wanted is not None and step.on_disk is None:
                below = [each for each in self._folders if each.is_relative_to(step.path)]
                await to_thread.run_sync(_remove_empty, below)
            await to_thread.run_sync(put, step.path, wanted, step.on_disk)
            desk.note_command()
        return Touched(step.path, wanted)

    def _is_for_editor(self, step: Step, wanted: Original) -> bool:
        """Whether to restore through the editor: a writable text file that is no link."""
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
    """Return files as they are now, for the checkpoint. It blocks.

    Raises:
        OSError: One of them cannot be read.
    """
    return tuple(Touched(step.path, step.now(), step.is_unsaved) for step in steps)


def _grouped(steps: Sequence[Step]) -> Iterator[Sequence[Step]]:
    """Yield the files of each permission question."""
    if len(steps) > MOST_SINGLE_QUESTIONS:
        yield steps
    else:
        yield from ((step,) for step in steps)


def _target(step: Step) -> Target:
    """Return a file in the form the gate judges.

    The path itself is written: a link is replaced, not followed.
    """
    return replace(target_of(step.place), stands=step.path)


def _remove_empty(folders: Sequence[Path]) -> None:
    """Remove the directories that the turn created, except those that are not empty."""
    for folder in folders:
        with suppress(OSError):
            remove_empty_folder(folder)
