"""Plans an undo: compares each file of a turn with its state before and after the turn.

Reads only. A file that equals neither state has been changed since the turn. Unsaved text in the
editor counts as the file's content.
"""

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from anyio import to_thread

from acp_server.checkpoints.errors import CheckpointReadError
from acp_server.checkpoints.files import DirectoryObstacleError, FileImage, read_file_image
from acp_server.checkpoints.manager import CheckpointManager
from acp_server.checkpoints.other_turns import OtherTurn, find_writer
from acp_server.checkpoints.records import FileVersion, RecordedChange, TurnOrigin
from acp_server.checkpoints.turn_range import TurnRange
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.edit.diffs import exact_diff
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.edit.touched_files import original_of
from acp_server.tools.files.encoding import decode
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import FileSnapshot
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallContent, FileDiff

MAX_SHOWN_CHARACTERS = 1024 * 1024
"""Limit of all diffs of one permission question; the files beyond it are only listed."""
NO_FILE = "no file"


@frozen_dataclass
class RestoreStep:
    """One file to restore."""

    path: Path
    resolved: ResolvedPath
    on_disk: FileVersion | None
    snapshot: FileSnapshot | None
    """The file's current text, if it is a text file."""
    original: FileVersion | None
    is_changed_since: bool
    """Whether the file was changed since the turn, or perhaps by another session during it."""
    changed_by: TurnOrigin | None = None
    """The other session's turn that may have changed it, if any."""

    @property
    def is_unsaved(self) -> bool:
        """Whether the current text is in the editor only."""
        return self.snapshot is not None and not self.snapshot.is_saved

    def current(self) -> FileImage | None:
        """Return the file's current content. It blocks.

        Raises:
            OSError: It cannot be read.
        """
        if self.snapshot is not None and self.is_unsaved:
            return original_of(self.snapshot)
        return _read_image(self.path)


@frozen_dataclass
class RestorePlan:
    """The files to restore in an undo."""

    steps: tuple[RestoreStep, ...]
    obstacles: dict[str, str]
    """Reasons why files cannot be restored, by path."""

    @property
    def unchanged(self) -> tuple[RestoreStep, ...]:
        """The files that were not changed since the turn."""
        return tuple(step for step in self.steps if not step.is_changed_since)

    @property
    def changed(self) -> tuple[RestoreStep, ...]:
        """The files that were changed since the turn; each needs permission of its own."""
        return tuple(step for step in self.steps if step.is_changed_since)


class RestorePlanner:
    """Plans undos for one session."""

    def __init__(self, services: EditServices, checkpoints: CheckpointManager) -> None:
        self._files = services.files
        self._checkpoints = checkpoints

    async def plan(self, turns: TurnRange) -> RestorePlan:
        """Return the files to restore; files that are already as before the turn are left out."""
        steps: list[RestoreStep] = []
        obstacles: dict[str, str] = {}
        others = await self._checkpoints.other_turns()
        foreign_states = turns.foreign_states
        for change in turns.changes:
            states = foreign_states.get(change.path, ())
            try:
                step = await self._plan_file(change, states, others)
            except FileError as error:
                obstacles[change.path] = error.reason
            except OSError as error:
                obstacles[change.path] = error.strerror or str(error)
            else:
                steps += [step] if step is not None else []
        # Deletions first, the deepest path first: a file that the turn created may be where a
        # directory has to be made, or its directory where a file has to be restored.
        steps.sort(key=lambda step: (step.original is not None, -len(step.path.parts), step.path))
        return RestorePlan(tuple(steps), obstacles)

    async def _plan_file(
        self,
        change: RecordedChange,
        foreign_states: Sequence[FileVersion | None],
        others: Sequence[OtherTurn],
    ) -> RestoreStep | None:
        path = Path(change.path)
        resolved = await self._files.resolve(change.path)
        image = await to_thread.run_sync(_read_image, path)
        on_disk = None if image is None else image.version
        snapshot: FileSnapshot | None = None
        if (on_disk is None or on_disk.kind == "file") and resolved.real == path:
            # If it is not a text file, the editor cannot hold another version of it.
            with suppress(FileError):
                snapshot = await self._files.read_if_exists(resolved)
        current = on_disk
        if snapshot is not None and not snapshot.is_saved:
            current = original_of(snapshot).version
        if current == change.before and on_disk == change.before:
            return None
        is_changed = not change.is_after_known or current != change.after
        # What the turn's own edit has left is its own, even if another turn wrote the same.
        is_own = change.is_own and not is_changed
        writer = None if is_own else find_writer(change.path, (current, *foreign_states), others)
        return RestoreStep(
            path,
            resolved,
            on_disk,
            snapshot,
            change.before,
            is_changed or writer is not None,
            writer,
        )

    async def describe_changes(self, steps: Sequence[RestoreStep]) -> tuple[CallContent, ...]:
        """Return the changes as diffs; binary files, links and mode changes are listed in text."""
        shown: list[CallContent] = []
        lines: list[str] = []
        characters_left = MAX_SHOWN_CHARACTERS
        for step in steps:
            current: FileImage | None = None
            with suppress(OSError):
                current = await to_thread.run_sync(step.current)
            original = await self.load_original(step)
            diffs = _diffs(step.path, current, original) if characters_left > 0 else ()
            characters_left -= sum(len(diff.old_text or "") + len(diff.new_text) for diff in diffs)
            shown += diffs
            has_new_mode = current and original and current.mode != original.mode
            if not diffs or has_new_mode:
                lines.append(
                    f"- `{step.path}`: {_describe_state(current)} → {_describe_state(original)}"
                )
        return (*shown, Text("\n".join(lines))) if lines else tuple(shown)

    async def load_original(self, step: RestoreStep) -> FileImage | None:
        """Return the content to restore; None if the file did not exist.

        Raises:
            CheckpointReadError: The checkpoint's copy is missing or damaged.
        """
        if step.original is None:
            return None
        data = await self._checkpoints.read(step.original.blob)
        return FileImage(step.original.kind, data, step.original.mode)

    async def exclude_unreadable(self, plan: RestorePlan) -> RestorePlan:
        """Move the files whose checkpointed content is missing from the steps to the obstacles."""
        steps: list[RestoreStep] = []
        obstacles = dict(plan.obstacles)
        for step in plan.steps:
            try:
                await self.load_original(step)
            except CheckpointReadError as error:
                obstacles[str(step.path)] = error.reason
            else:
                steps.append(step)
        return RestorePlan(tuple(steps), obstacles)


def _read_image(path: Path) -> FileImage | None:
    """Return the file or link at a path; None if there is none.

    A directory counts as none: it may be removed by an earlier step of the same undo.

    Raises:
        OSError: It cannot be read.
    """
    try:
        return read_file_image(path)
    except DirectoryObstacleError:
        return None


def _diffs(
    path: Path, current: FileImage | None, original: FileImage | None
) -> tuple[FileDiff, ...]:
    """Return the diff of a file; empty if its text stays equal or one state is not text."""
    try:
        old, new = _text_of(current), _text_of(original)
    except FileError:
        return ()
    if old == new:
        return ()
    return exact_diff(str(path), old, new or "")


def _text_of(image: FileImage | None) -> str | None:
    """Return a file's text; None if there is no file.

    Raises:
        FileError: It is not text.
    """
    if image is None:
        return None
    if image.kind == "link":
        reason = "a link has no text"
        raise FileError(reason)
    return decode(image.data)[0]


def _describe_state(image: FileImage | None) -> str:
    if image is None:
        return NO_FILE
    if image.kind == "link":
        return f"a link to {image.data.decode(errors='replace')!r}"
    return f"a file of {len(image.data):,} bytes, mode {image.mode:o}"
