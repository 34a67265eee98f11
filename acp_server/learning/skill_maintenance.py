"""Skill maintenance while no session works: ageing once a day, optionally a weekly curator run.

It checks periodically; `skills_store.curation.schedule` knows when something is due.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime

import anyio
from anyio import to_thread

from acp_server.session.user_notices import UserNotices
from skills_store.curation.schedule import CurationSchedule
from skills_store.editor import SkillEditor
from skills_store.errors import SkillError
from skills_store.lifecycle import apply_transitions, find_due_transitions
from skills_store.usage import Clock, current_time

logger = logging.getLogger(__name__)

CHECK_INTERVAL_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class SessionActivity:
    """The activity of one session, as far as maintenance depends on it."""

    is_idle: bool
    """Whether no prompt runs or waits."""
    updated_at: datetime
    """When a prompt last started or ended."""
    user_notices: UserNotices


@dataclass(slots=True)
class SkillMaintenance:
    """The skill maintenance of one home directory, by one server."""

    skill_editor: SkillEditor
    schedule: CurationSchedule
    sessions: Callable[[], Iterable[SessionActivity]]
    curate: Callable[[], Awaitable[str]] | None = None
    """Runs the curator and returns a line for the user; None if it only runs on request."""
    now: Clock = current_time
    _started_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Start the idle time."""
        self._started_at = self.now()

    async def run(self) -> None:
        """Check periodically, forever."""
        while True:
            await self.run_if_due()
            await anyio.sleep(CHECK_INTERVAL_SECONDS)

    async def run_if_due(self) -> None:
        """Run due maintenance. Errors are logged: no user is waiting for the result."""
        states = tuple(self.sessions())
        if not all(each.is_idle for each in states):
            return
        try:
            await to_thread.run_sync(self._mark_aged_skills)
            idle = self.now() - max((each.updated_at for each in states), default=self._started_at)
            if self.curate is None or not await to_thread.run_sync(
                self.schedule.is_curation_due, idle
            ):
                return
            notice = await self.curate()
            if states:  # only the most recently used session shows it
                max(states, key=lambda each: each.updated_at).user_notices.add(notice)
        except (OSError, SkillError) as error:
            logger.info("skill maintenance failed and is retried later: %s", error)

    def _mark_aged_skills(self) -> None:
        """Mark skills that have aged, once a day."""
        if not self.schedule.is_aging_due():
            return
        # Another server may share this home directory.
        with self.schedule.exclusive():
            due = find_due_transitions(self.skill_editor.usage.records(), self.now())
            apply_transitions(self.skill_editor, due, self.skill_editor.new_undo_id())
            self.schedule.record_aging()
