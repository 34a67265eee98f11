"""What bringing a turn's files back would mean now: for each file what it is, and what it was.

Only looks. A file that is neither what it was before the turn nor what the turn made of it has been
changed since, by whomever; what is in the editor only counts as the file.
"""

from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from acp_server.checkpoints.disk import FolderInTheWayError, Original, original_at
from acp_server.checkpoints.errors import LostError
from acp_server.checkpoints.keeper import Keeper
from acp_server.checkpoints.records import Change, Record, State
from acp_server.frozen import frozen
from acp_server.tools.diffs import exact_diff
from acp_server.tools.editing import Workshop
from acp_server.tools.files.encoding import decode
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import Place
from acp_server.tools.files.snapshot import Snapshot
from acp_server.tools.keeping import original_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallContent, FileDiff

MOST_SHOWN_CHARACTERS = 1024 * 1024
"""Of all diffs of one question; what comes behind is named."""
GONE = "nothing"


@frozen
class Step:
    """One file that is to be brought back."""

    path: Path
    place: Place
    on_disk: State | None
    snapshot: Snapshot | None
    """The file as a text, if it is one."""
    wanted: State | None
    is_changed: bool
    """Whether somebody has changed it since the turn."""

    @property
    def is_unsaved(self) -> bool:
        """Whether what it is now is in the editor only."""
        return self.snapshot is not None and not self.snapshot.is_saved

    def now(self) -> Original | None:
        """Return what it is. It blocks.

        Raises:
            OSError: it cannot be read.
        """
        if self.snapshot is not None and self.is_unsaved:
            return original_of(self.snapshot)
        return _found_at(self.path)


@frozen
class Plan:
    """What is to be done to bring a turn's files back."""

    steps: tuple[Step, ...]
    obstacles: dict[str, str]
    """Files that cannot be brought back, with the reason."""

    @property
    def plain(self) -> tuple[Step, ...]:
        """The files that nobody has changed since."""
        return tuple(step for step in self.steps if not step.is_changed)

    @property
    def changed(self) -> tuple[Step, ...]:
        """The others."""
        return tuple(step for step in self.steps if step.is_changed)


class Planner:
    """Looks at the files of a session."""

    def __init__(self, workshop: Workshop, keeper: Keeper) -> None:
        self._desk = workshop.desk
        self._keeper = keeper

    async def plan(self, record: Record) -> Plan:
        """Return what is to be done; what is so already is left out.

        What goes comes first, the deepest before the others, so that there is room for what comes.
        """
        steps: list[Step] = []
        obstacles: dict[str, str] = {}
        for change in record.changes:
            try:
                step = await self._step(change)
            except FileError as error:
                obstacles[change.path] = error.reason
            except OSError as error:
                obstacles[change.path] = error.strerror or str(error)
            else:
                steps += [step] if step is not None else []
        steps.sort(key=lambda step: (step.wanted is not None, -len(step.path.parts), step.path))
        return Plan(tuple(steps), obstacles)

    async def _step(self, change: Change) -> Step | None:
        path = Path(change.path)
        place = await self._desk.place(change.path)
        found = await to_thread.run_sync(_found_at, path)
        on_disk = None if found is None else found.state
        snapshot = await self._text(place, path, on_disk)
        now = on_disk
        if snapshot is not None and not snapshot.is_saved:
            now = original_of(snapshot).state
        if now == change.before and on_disk == change.before:
            return None
        is_changed = not change.is_after_known or now != change.after
        return Step(path, place, on_disk, snapshot, change.before, is_changed)

    async def _text(self, place: Place, path: Path, on_disk: State | None) -> Snapshot | None:
        is_file = on_disk is None or on_disk.kind == "file"
        if not is_file or place.real != path:
            return None
        try:
            return await self._desk.look(place)
        except FileError:  # no text: then the disk is all there is
            return None

    async def blocks(self, steps: Sequence[Step]) -> tuple[CallContent, ...]:
        """Return what would become of files, as diffs; what has no text is described."""
        shown: list[CallContent] = []
        lines: list[str] = []
        left = MOST_SHOWN_CHARACTERS
        for step in steps:
            now = await to_thread.run_sync(_read, step)
            wanted = await self.wanted(step)
            diffs = _diffs(step.path, now, wanted) if left > 0 else ()
            left -= sum(len(diff.old_text or "") + len(diff.new_text) for diff in diffs)
            shown += diffs
            if not diffs or _is_mode_news(now, wanted):
                lines.append(f"- `{step.path}`: {_told(now)} becomes {_told(wanted)}")
        return (*shown, Text("\n".join(lines))) if lines else tuple(shown)

    async def wanted(self, step: Step) -> Original | None:
        """Return what a file is to be.

        Raises:
            LostError: it is not there any more.
        """
        if step.wanted is None:
            return None
        data = await self._keeper.read(step.wanted.blob)
        return Original(step.wanted.kind, data, step.wanted.mode)

    async def without_lost(self, plan: Plan) -> Plan:
        """Return a plan without the files whose bytes are not there any more; these are named."""
        steps: list[Step] = []
        obstacles = dict(plan.obstacles)
        for step in plan.steps:
            try:
                await self.wanted(step)
            except LostError as error:
                obstacles[str(step.path)] = error.reason
            else:
                steps.append(step)
        return Plan(tuple(steps), obstacles)


def _found_at(path: Path) -> Original | None:
    """Return what a path holds; nothing of a folder, for it may have gone when its turn comes.

    Raises:
        OSError: it cannot be read.
    """
    try:
        return original_at(path)
    except FolderInTheWayError:
        return None


def _read(step: Step) -> Original | None:
    try:
        return step.now()
    except OSError:
        return None


def _diffs(path: Path, now: Original | None, wanted: Original | None) -> tuple[FileDiff, ...]:
    """Return what changes in the text of a file; nothing where one of the two is no text."""
    try:
        old, new = _text_of(now), _text_of(wanted)
    except FileError:
        return ()
    if old == new:
        return ()
    return exact_diff(str(path), old, new or "")


def _text_of(original: Original | None) -> str | None:
    """Return a file's text; None for nothing.

    Raises:
        FileError: it is no text.
    """
    if original is None:
        return None
    if original.kind == "link":
        reason = "a link has no text"
        raise FileError(reason)
    return decode(original.data)[0]


def _is_mode_news(now: Original | None, wanted: Original | None) -> bool:
    return now is not None and wanted is not None and now.mode != wanted.mode


def _told(original: Original | None) -> str:
    if original is None:
        return GONE
    if original.kind == "link":
        return f"a link to {original.data.decode(errors='replace')!r}"
    return f"a file of {len(original.data):,} bytes, mode {original.mode:o}"
