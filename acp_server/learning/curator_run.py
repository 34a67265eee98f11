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
from acp_server.skills.service import SkillService
from acp_server.text.quantities import dollars
from acp_server.turn.usage_totals import UsageTotals
from skills_store.curation.merging import CuratorSkillEditor
from skills_store.curation.report import CurationReport, write_report
from skills_store.curation.schedule import CurationSchedule, LastCuration
from skills_store.errors import SkillError
from skills_store.home import AgentHome
from skills_store.trees import capture_tree, copy_tree
from skills_store.undo import BackupStore
from skills_store.usage import Clock, current_time

logger = logging.getLogger(__name__)

NOTHING_TO_UNDO = "nothing to undo: no run changed anything, or the last one is already undone"
NO_ACCOUNT = "The run ended before the curator reported its changes."


class NothingToUndoError(SkillError):
    """No run has changed anything, or the last one is already undone."""


@dataclass(frozen=True, slots=True)
class CuratorResult:
    """The result of a curator run."""

    report: CurationReport
    usage_totals: UsageTotals
    directory: Path | None = None
    """The directory of the report; None for a dry run."""

    @property
    def notice(self) -> str:
        """A notice for the user, who was not watching the run."""
        cost = self.usage_totals.cost_usd
        cost_text = "" if cost is None else f" It cost {dollars(cost)}."
        where = f"see {self.directory / 'report.md'}" if self.directory else "nothing was written"
        undo = "; undo with `acp-server skills curate --undo`" if self.report.changes else ""
        text = f"The curator reviewed your skills: {self.report.summary} ({where}{undo})."
        return f"{text}{cost_text}"


@dataclass(slots=True)
class CuratorRuns:
    """The curator runs over one home directory."""

    skill_service: SkillService
    catalog: ModelCatalog
    model_id: str = ""
    now: Clock = current_time
    _home: AgentHome = field(init=False)
    _schedule: CurationSchedule = field(init=False)

    def __post_init__(self) -> None:
        """Set up paths; nothing is read yet."""
        self._home = AgentHome(self.skill_service.home)
        self._schedule = CurationSchedule(self._home, self.now)

    async def run(self) -> CuratorResult:
        """Run the curator over the user's skills.

        Raises:
            LockedError: another process is running it.
            OSError: the snapshot or the report cannot be written.
        """
        async with self._lock():
            started_run = await to_thread.run_sync(self._start)
            curator = self._curator(self.skill_service)
            try:
                await curator.run()
            finally:
                # Shielded, also when cancelled: the changes are on disk already, and without this
                # step there would be no report and no correct entry to undo.
                report = _build_report(curator, started_run)
                with anyio.CancelScope(shield=True):
                    await to_thread.run_sync(self._finish, started_run, report)
        return CuratorResult(report, curator.usage_totals, started_run.directory)

    async def dry_run(self) -> CuratorResult:
        """Return what a run would do, without writing to the home directory.

        Raises:
            OSError: the skills cannot be copied.
        """
        started_run = _StartedRun(self.now())
        with tempfile.TemporaryDirectory(prefix="acp-server-") as directory:
            copy = Path(directory)
            await to_thread.run_sync(_copy_skills, self.skill_service.home, copy)
            # No watch: file events of the copy must not reach the sessions.
            curator = self._curator(replace(self.skill_service, home=copy, watch=None))
            await curator.run()
            return CuratorResult(_build_report(curator, started_run), curator.usage_totals)

    async def undo(self) -> tuple[LastCuration, str]:
        """Restore all skills to their state before the last run.

        Return that run, and the id of a snapshot of the state just before this.

        Raises:
            NothingToUndoError: there is no run, or it is already undone.
            SkillUndoError: its snapshot no longer exists.
            LockedError: another process is running the curator.
            OSError: a file cannot be written; calling it again continues.
        """
        async with self._lock():
            last = self._schedule.last_curation()
            if last is None or last.undone_at is not None:
                raise NothingToUndoError(NOTHING_TO_UNDO)
            backups = BackupStore(self._home, self.now)
            safety_id = await to_thread.run_sync(backups.restore, last.snapshot_id)
            # After the restore: if that fails halfway, the run still counts as not undone and can
            # be retried.
            await to_thread.run_sync(self._schedule.record_undone)
        return last, safety_id

    @asynccontextmanager
    async def _lock(self) -> AsyncGenerator[None]:
        with ExitStack() as stack:
            await to_thread.run_sync(stack.enter_context, self._schedule.exclusive())
            yield

    def _curator(self, skill_service: SkillService) -> Curator:
        editor = CuratorSkillEditor(skill_service.home, lambda: skill_service.roots(None), self.now)
        return Curator(
            skill_service, self.catalog, editor, self.model_id, self._schedule.overlaps()
        )

    def _start(self) -> "_StartedRun":
        """Take a snapshot and record it at once, so that a run that is killed can be undone."""
        time = self.now()
        folder = _new_directory(self.skill_service.home / "acp" / "curator", time)
        snapshot_id = BackupStore(self._home, self.now).create("before a curator's pass")
        previous_run = self._schedule.last_curation()
        self._schedule.record_curation(LastCuration(folder.name, snapshot_id))
        return _StartedRun(time, folder, snapshot_id, previous_run)

    def _finish(self, started_run: "_StartedRun", report: CurationReport) -> None:
        """Write the report. A run without changes leaves the previous run to be undone."""
        if not report.changes:
            self._schedule.record_curation(started_run.previous_run)
        if not report.issues:
            self._schedule.clear_overlaps()
        if started_run.directory is not None:
            write_report(started_run.directory, report)


@dataclass(frozen=True, slots=True)
class _StartedRun:
    """A run that has started; for a dry run only its time."""

    time: datetime
    directory: Path | None = None
    snapshot_id: str = ""
    previous_run: LastCuration | None = None


def _build_report(curator: Curator, started_run: _StartedRun) -> CurationReport:
    changes = tuple(curator.skill_editor.changes)
    issues = curator.issues or ((NO_ACCOUNT,) if changes and not curator.has_answered else ())
    return CurationReport(
        started_run.time, changes, curator.summary, issues, started_run.snapshot_id
    )


def _new_directory(parent: Path, time: datetime) -> Path:
    """Return a directory named after the time that does not exist yet."""
    name = f"{time:%Y%m%dT%H%M%SZ}"
    names = (name, *(f"{name}-{number}" for number in range(2, 100)))
    return next(parent / each for each in names if not (parent / each).exists())


def _copy_skills(home: Path, copy: Path) -> None:
    """Copy the input of a run: the skills, and the lists of installed and trusted ones."""
    skills = AgentHome(home).skills
    copy_tree(skills, AgentHome(copy).skills, capture_tree(skills))
    lists = (AgentHome(home).installed, home / "acp" / "context_trust.json")
    for file in filter(Path.is_file, lists):
        target = copy / file.relative_to(home)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
