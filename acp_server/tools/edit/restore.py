"""Restores the files of one turn to their state before it: asks, saves a checkpoint, restores.

Every restore passes the permission gate like any other write. A file that was changed since the
turn, or by another session during it, needs permission of its own, in every mode. The current
content is checkpointed first, so that an undo can be undone.
"""

import os
import shlex
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from anyio import to_thread

from acp_server.checkpoints.errors import CheckpointError, CheckpointReadError
from acp_server.checkpoints.files import FileImage, remove_empty_directory, replace_file
from acp_server.checkpoints.manager import CheckpointManager
from acp_server.checkpoints.turn_recorder import TouchedFile
from acp_server.permissions.effects import RestoreFiles
from acp_server.permissions.gate import REJECTED, UNATTENDED, Refusal
from acp_server.permissions.questions import PermissionQuestion
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.display_paths import target_for
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.edit.restore_plan import RestorePlan, RestorePlanner, RestoreStep
from acp_server.tools.files.errors import FileError
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallAppeared, CallChanged, CallContent, Location
from acp_server.turn.ports import TurnSink
from acp_server.turn.step import NewId

NAME = "undo"
MAX_SINGLE_QUESTIONS = 10
"""Up to so many files changed since the turn are asked about one by one; more in one question."""
BATCH_SIZE = 100
OWNER_WRITES = 0o200
RULES_FORBID = "the rules of this run do not allow it"


@dataclass(slots=True)
class RestoreResult:
    """Result of a restore: the restored files and the remaining ones."""

    done: list[str] = field(default_factory=list[str])
    failures: dict[str, str] = field(default_factory=dict[str, str])
    """Reasons why files were not restored, by path."""


class Restorer:
    """Restores the files of one turn."""

    def __init__(
        self, services: EditServices, checkpoints: CheckpointManager, sink: TurnSink, new_id: NewId
    ) -> None:
        self._services = services
        self._checkpoints = checkpoints
        self._planner = RestorePlanner(services, checkpoints)
        self._sink = sink
        self._new_id = new_id
        self.result = RestoreResult()
        self._created_directories: Sequence[Path] = ()
        """The directories that the turn created, the deepest first."""

    async def restore(
        self, plan: RestorePlan, notes: Sequence[str], folders: Sequence[str]
    ) -> RestoreResult:
        """Ask, and restore the permitted files; `notes` are shown with the first question."""
        self._created_directories = [Path(each) for each in sorted(folders, key=len, reverse=True)]
        self.result.failures |= plan.obstacles
        groups = [(plan.unchanged, False), (plan.changed, True)]
        if len(plan.changed) <= MAX_SINGLE_QUESTIONS:
            groups = [groups[0], *(((step,), True) for step in plan.changed)]
        note_texts = tuple(Text(note) for note in notes)
        for steps, is_changed in groups:
            if steps:
                await self._restore_group(steps, note_texts, is_changed=is_changed)
                note_texts = ()
        await to_thread.run_sync(_remove_empty_directories, self._created_directories)
        return self.result

    async def _restore_group(
        self, steps: Sequence[RestoreStep], note_texts: tuple[Text, ...], *, is_changed: bool
    ) -> None:
        """Ask about some files in one question, in a tool call of its own, and restore them."""
        reporter = CallReporter(self._new_id(), self._sink)
        question = self._build_question(reporter.call_id, steps, is_changed=is_changed)
        title = question.title.removesuffix("?")
        await self._sink.emit(CallAppeared(reporter.call_id, NAME, "edit", title))
        is_complete = False
        try:
            await reporter.describe(title, question.locations)
            shown: tuple[CallContent, ...] = (
                *note_texts,
                *await self._planner.describe_changes(steps),
            )
            can_preview = await self._services.can_preview(*(step.resolved for step in steps))
            if can_preview:
                await reporter.show(shown)
            refusal = await self._services.gate.authorize(replace(question, content=shown))
            # The client has shown the question as the title of the call.
            await self._sink.emit(CallChanged(reporter.call_id, title=title))
            if refusal is not None:
                self.result.failures |= {
                    str(step.path): self._describe_refusal(refusal, step, is_changed=is_changed)
                    for step in steps
                }
                return
            if not can_preview:
                await reporter.show(shown)
            await reporter.mark_in_progress()
            is_complete = await self._restore_files(steps)
        finally:  # also if cancelled: else the editor shows the call as running forever
            status = "completed" if is_complete else "failed"
            self._sink.emit_now(CallChanged(reporter.call_id, status))

    def _describe_refusal(self, refusal: Refusal, step: RestoreStep, *, is_changed: bool) -> str:
        """Return why a file was not restored, for the user: a refusal's text is for the model."""
        if refusal.reason == REJECTED:
            return "you did not permit it"
        if refusal.reason != UNATTENDED:
            return refusal.reason
        writer = f"by {step.changed_by.label}" if step.changed_by else "since that turn"
        reason = f"it was changed {writer}" if is_changed else RULES_FORBID
        if not refusal.is_allowable:
            return RULES_FORBID
        rule = shlex.quote(f"edit({self._services.display_path(step.path)})")
        return f"{reason}. To restore it all the same: `--allow {rule}`"

    def _build_question(
        self, call_id: str, steps: Sequence[RestoreStep], *, is_changed: bool
    ) -> PermissionQuestion:
        names = [self._services.display_path(step.path) for step in steps]
        subject = names[0] if len(names) == 1 else f"{len(names)} files"
        writers = dict.fromkeys(step.changed_by.label for step in steps if step.changed_by)
        by = f" by {' and '.join(writers)}" if writers else " since that turn"
        suffix = f" (changed{by})" if is_changed else ""
        lost = tuple(
            f"{name} (by {step.changed_by.label})" if step.changed_by else name
            for name, step in zip(names, steps, strict=True)
        )
        # The path itself is written: a link is replaced, not followed.
        targets = tuple(replace(target_for(step.resolved), link=step.path) for step in steps)
        return PermissionQuestion(
            call_id=call_id,
            effect=RestoreFiles(targets, lost if is_changed else ()),
            title=f"Restore {subject}{suffix}?",
            kind="edit",
            locations=tuple(Location(str(step.path)) for step in steps),
        )

    async def _restore_files(self, steps: Sequence[RestoreStep]) -> bool:
        """Checkpoint the current files, then restore; return whether all could be restored."""
        failure_count = len(self.result.failures)
        for start in range(0, len(steps), BATCH_SIZE):
            batch = steps[start : start + BATCH_SIZE]
            try:
                # The current content must be saved first: without it, the files are not touched.
                await self._checkpoints.store_or_fail(
                    await to_thread.run_sync(_current_files, batch)
                )
            except (CheckpointError, OSError) as error:
                reason = f"its current content could not be saved: {error}"
                self.result.failures |= dict.fromkeys((str(step.path) for step in batch), reason)
                continue
            restored = [
                touched for step in batch if (touched := await self._restore_file(step)) is not None
            ]
            await self._checkpoints.after_edit(restored)
        return len(self.result.failures) == failure_count

    async def _restore_file(self, step: RestoreStep) -> TouchedFile | None:
        """Restore one file; if that fails, note the reason and return None."""
        files = self._services.files
        try:
            original = await self._planner.load_original(step)
            async with files.lock([step.path]):
                # Through the editor if it may have the file open: else its buffer would be stale.
                if original is not None and self._should_use_editor(step, original):
                    await files.restore(step.resolved, original, step.snapshot)
                else:
                    # The turn may have replaced the file by a directory, which must go first.
                    if step.original is not None and step.on_disk is None:
                        folders = self._created_directories
                        created_below = [each for each in folders if each.is_relative_to(step.path)]
                        await to_thread.run_sync(_remove_empty_directories, created_below)
                        await to_thread.run_sync(_remove_directory_without_files, step.path)
                    await to_thread.run_sync(replace_file, step.path, original, step.on_disk)
                    files.note_command()
        except (FileError, CheckpointReadError) as error:
            self.result.failures[str(step.path)] = error.reason
        except OSError as error:
            self.result.failures[str(step.path)] = error.strerror or str(error)
        else:
            self.result.done.append(str(step.path))
            return TouchedFile(step.path, original)
        return None

    def _should_use_editor(self, step: RestoreStep, original: FileImage) -> bool:
        """Whether to restore through the editor: a writable text file that is no link."""
        if original.kind == "link" or step.resolved.real != step.path:
            return False
        if step.on_disk is not None:
            is_writable = bool(step.on_disk.mode & OWNER_WRITES)
            if step.snapshot is None or not is_writable:
                return False
        elif step.path.is_dir():
            return False
        return self._services.files.can_restore(step.resolved, original.data)


def _current_files(steps: Sequence[RestoreStep]) -> tuple[TouchedFile, ...]:
    """Return files as they are now, for the checkpoint. It blocks.

    Raises:
        OSError: One of them cannot be read.
    """
    return tuple(TouchedFile(step.path, step.current(), step.is_unsaved) for step in steps)


def _remove_empty_directories(folders: Sequence[Path]) -> None:
    """Remove the directories that the turn created, except those that are not empty."""
    for folder in folders:
        with suppress(OSError):
            remove_empty_directory(folder)


def _remove_directory_without_files(folder: Path) -> None:
    """Remove a directory that holds only directories: no snapshot knows these."""
    if folder.is_symlink():
        return
    found: list[Path] = []
    for parent, folders, files in os.walk(folder):
        if files or any(Path(parent, name).is_symlink() for name in folders):
            return
        found.append(Path(parent))
    _remove_empty_directories(found[::-1])
