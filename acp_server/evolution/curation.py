"""A curator's pass from the lock to the report: a snapshot first, undone as a whole if need be.

A dry run is the same pass over a copy of the skills, which is thrown away: what it prints is what
would have been done, and nothing of the home was written.
"""

import logging
import shutil
import tempfile
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.evolution.curator import Curator
from acp_server.session.ports import ModelCatalog
from acp_server.skills.room import SkillRoom
from acp_server.turn.loop import Spent
from skills_store.backups import Backups
from skills_store.curation import CuratorKeeper, LastPass, Report, Schedule, write_report
from skills_store.home import Home
from skills_store.trees import capture, copy_tree
from skills_store.usage import Clock, current_time

logger = logging.getLogger(__name__)

UNTOLD = "The pass was ended before the curator gave an account."


class NothingToUndoError(Exception):
    """No pass has changed anything, or the last one was undone already."""


@dataclass(frozen=True, slots=True)
class Curated:
    """What came of a pass."""

    report: Report
    spent: Spent
    folder: Path | None = None
    """Where the report was written; None for a dry run."""

    @property
    def line(self) -> str:
        """What the user is told who was away."""
        cost = self.spent.cost_usd
        cost_told = "" if cost is None else f" It cost ${cost:.2f}."
        where = f"see {self.folder / 'report.md'}" if self.folder else "nothing was written"
        undo = "; `acp-server skills curate --undo` takes it back" if self.report.made else ""
        told = f"The curator looked through your skills: {self.report.summary} ({where}{undo})."
        return f"{told}{cost_told}"


@dataclass(frozen=True, slots=True)
class Undone:
    """What was undone, and the snapshot of how it was until then."""

    undone: LastPass
    safety_id: str


@dataclass(slots=True)
class Curation:
    """The passes over one home."""

    room: SkillRoom
    catalog: ModelCatalog
    model_id: str = ""
    now: Clock = current_time
    _home: Home = field(init=False)
    _schedule: Schedule = field(init=False)

    def __post_init__(self) -> None:
        """Prepare; nothing is read yet."""
        self._home = Home(self.room.home)
        self._schedule = Schedule(self._home, self.now)

    async def run(self) -> Curated:
        """Put the skills in order.

        Raises:
            LockedError: another process is at it.
            OSError: there can be no snapshot, or no report.
        """
        async with self._alone():
            begun = await to_thread.run_sync(self._begin)
            curator = self._curator(self.room)
            try:
                await curator.run()
            finally:
                report = _report(curator, begun)
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(self._end, begun, report)
        return Curated(report, curator.spent, begun.folder)

    async def rehearse(self) -> Curated:
        """Return what a pass would do; nothing of the home is written.

        Raises:
            OSError: the skills cannot be copied.
        """
        begun = _Begun(self.now())
        with tempfile.TemporaryDirectory(prefix="acp-server-") as place:
            copy = Path(place)
            await to_thread.run_sync(_copy, self.room.home, copy)
            curator = self._curator(replace(self.room, home=copy, watch=None))
            await curator.run()
            return Curated(_report(curator, begun), curator.spent)

    async def undo(self) -> Undone:
        """Make all skills what they were before the last pass.

        Raises:
            NothingToUndoError: there is none, or it was undone already.
            UndoError: its snapshot is not there any more.
            LockedError: another process is at it.
            OSError: something cannot be written; doing it again goes on.
        """
        async with self._alone():
            last = self._schedule.last_pass()
            if last is None or last.undone_at is not None:
                raise NothingToUndoError
            backups = Backups(self._home, self.now)
            safety_id = await to_thread.run_sync(backups.restore, last.snapshot_id)
            await to_thread.run_sync(self._schedule.note_undone)
        return Undone(last, safety_id)

    @asynccontextmanager
    async def _alone(self) -> AsyncGenerator[None]:
        with ExitStack() as stack:
            await to_thread.run_sync(stack.enter_context, self._schedule.alone())
            yield

    def _curator(self, room: SkillRoom) -> Curator:
        keeper = CuratorKeeper(room.home, lambda: room.roots(None), self.now)
        return Curator(room, self.catalog, keeper, self.model_id, self._schedule.overlaps())

    def _begin(self) -> "_Begun":
        """Take a snapshot, and note it at once: so the pass can be undone even if it is killed."""
        time = self.now()
        folder = _vacant(self.room.home / "acp" / "curator", time)
        snapshot_id = Backups(self._home, self.now).take("before a curator's pass")
        former = self._schedule.last_pass()
        self._schedule.note_curation(LastPass(folder.name, snapshot_id))
        return _Begun(time, folder, snapshot_id, former)

    def _end(self, begun: "_Begun", report: Report) -> None:
        """Write the report; a pass that changed nothing leaves the one before it to be undone."""
        if not report.made:
            self._schedule.note_curation(begun.former)
        if not report.faults:
            self._schedule.forget_overlaps()
        if begun.folder is not None:
            write_report(begun.folder, report)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A pass that has begun; one of a plan has nothing but its time."""

    time: datetime
    folder: Path | None = None
    snapshot_id: str = ""
    former: LastPass | None = None


def _report(curator: Curator, begun: _Begun) -> Report:
    made = tuple(curator.keeper.made)
    faults = curator.faults or ((UNTOLD,) if made and not curator.has_answered else ())
    return Report(begun.time, made, curator.block, faults, begun.snapshot_id)


def _vacant(parent: Path, time: datetime) -> Path:
    """Return a folder of the time that is not there yet."""
    name = f"{time:%Y%m%dT%H%M%SZ}"
    names = (name, *(f"{name}-{number}" for number in range(2, 100)))
    return next(parent / each for each in names if not (parent / each).exists())


def _copy(home: Path, copy: Path) -> None:
    """Copy what a pass works on: the skills, and the lists of whose they are."""
    skills = Home(home).skills
    copy_tree(skills, Home(copy).skills, capture(skills))
    lists = (Home(home).installed, home / "acp" / "context_trust.json")
    for file in filter(Path.is_file, lists):
        target = copy / file.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
