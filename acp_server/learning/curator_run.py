"""One curator run from lock to report, with a snapshot taken first so that it can be undone.

A dry run does the same on a copy of the skills that is then deleted: its report shows the changes a
real run would make, and nothing in the home directory is written.
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

from acp_server.learning.curator import Curator
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.skills.service import SkillRoom
from acp_server.turn.loop import Spent
from skills_store.backups import Backups
from skills_store.curation import CuratorKeeper, LastPass, Report, Schedule, write_report
from skills_store.home import Home
from skills_store.trees import capture, copy_tree
from skills_store.usage import Clock, current_time

logger = logging.getLogger(__name__)

UNTOLD = "The run ended before the curator reported its changes."


class NothingToUndoError(Exception):
    """No run has changed anything, or the last one is already undone."""


@dataclass(frozen=True, slots=True)
class Curated:
    """The result of a curator run."""

    report: Report
    spent: Spent
    folder: Path | None = None
    """The directory of the report; None for a dry run."""

    @property
    def line(self) -> str:
        """A notice for the user, who was not watching the run."""
        cost = self.spent.cost_usd
        cost_told = "" if cost is None else f" It cost ${cost:.2f}."
        where = f"see {self.folder / 'report.md'}" if self.folder else "nothing was written"
        undo = "; undo with `acp-server skills curate --undo`" if self.report.made else ""
        told = f"The curator reviewed your skills: {self.report.summary} ({where}{undo})."
        return f"{told}{cost_told}"


@dataclass(frozen=True, slots=True)
class Undone:
    """The run that was undone, and the id of a snapshot of the state just before the undo."""

    undone: LastPass
    safety_id: str


@dataclass(slots=True)
class Curation:
    """The curator runs over one home directory."""

    room: SkillRoom
    catalog: ModelCatalog
    model_id: str = ""
    now: Clock = current_time
    _home: Home = field(init=False)
    _schedule: Schedule = field(init=False)

    def __post_init__(self) -> None:
        """Set up paths; nothing is read yet."""
        self._home = Home(self.room.home)
        self._schedule = Schedule(self._home, self.now)

    async def run(self) -> Curated:
        """Run the curator over the user's skills.

        Raises:
            LockedError: another process is running it.
            OSError: the snapshot or the report cannot be written.
        """
        async with self._alone():
            begun = await to_thread.run_sync(self._begin)
            curator = self._curator(self.room)
            try:
                await curator.run()
            finally:
                # Shielded, also when cancelled: the changes are on disk already, and without this
                # step there would be no report and no correct entry to undo.
                report = _report(curator, begun)
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(self._end, begun, report)
        return Curated(report, curator.spent, begun.folder)

    async def rehearse(self) -> Curated:
        """Return what a run would do, without writing to the home directory.

        Raises:
            OSError: the skills cannot be copied.
        """
        begun = _Begun(self.now())
        with tempfile.TemporaryDirectory(prefix="acp-server-") as place:
            copy = Path(place)
            await to_thread.run_sync(_copy, self.room.home, copy)
            # No watch: file events of the copy must not reach the sessions.
            curator = self._curator(replace(self.room, home=copy, watch=None))
            await curator.run()
            return Curated(_report(curator, begun), curator.spent)

    async def undo(self) -> Undone:
        """Restore all skills to their state before the last run.

        Raises:
            NothingToUndoError: there is no run, or it is already undone.
            UndoError: its snapshot no longer exists.
            LockedError: another process is running the curator.
            OSError: a file cannot be written; calling it again continues.
        """
        async with self._alone():
            last = self._schedule.last_pass()
            if last is None or last.undone_at is not None:
                raise NothingToUndoError
            backups = Backups(self._home, self.now)
            safety_id = await to_thread.run_sync(backups.restore, last.snapshot_id)
            # After the restore: if that fails halfway, the run still counts as not undone and can
            # be retried.
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
        """Take a snapshot and record it at once, so that a run that is killed can be undone."""
        time = self.now()
        folder = _vacant(self.room.home / "acp" / "curator", time)
        snapshot_id = Backups(self._home, self.now).take("before a curator's pass")
        former = self._schedule.last_pass()
        self._schedule.note_curation(LastPass(folder.name, snapshot_id))
        return _Begun(time, folder, snapshot_id, former)

    def _end(self, begun: "_Begun", report: Report) -> None:
        """Write the report. A run without changes leaves the previous run to be undone."""
        if not report.made:
            self._schedule.note_curation(begun.former)
        if not report.faults:
            self._schedule.forget_overlaps()
        if begun.folder is not None:
            write_report(begun.folder, report)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A run that has started; for a dry run only its time."""

    time: datetime
    folder: Path | None = None
    snapshot_id: str = ""
    former: LastPass | None = None


def _report(curator: Curator, begun: _Begun) -> Report:
    made = tuple(curator.keeper.made)
    faults = curator.faults or ((UNTOLD,) if made and not curator.has_answered else ())
    return Report(begun.time, made, curator.block, faults, begun.snapshot_id)


def _vacant(parent: Path, time: datetime) -> Path:
    """Return a directory named after the time that does not exist yet."""
    name = f"{time:%Y%m%dT%H%M%SZ}"
    names = (name, *(f"{name}-{number}" for number in range(2, 100)))
    return next(parent / each for each in names if not (parent / each).exists())


def _copy(home: Path, copy: Path) -> None:
    """Copy the input of a run: the skills, and the lists of installed and trusted ones."""
    skills = Home(home).skills
    copy_tree(skills, Home(copy).skills, capture(skills))
    lists = (Home(home).installed, home / "acp" / "context_trust.json")
    for file in filter(Path.is_file, lists):
        target = copy / file.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
