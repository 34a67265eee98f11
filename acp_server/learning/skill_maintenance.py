"""Skill maintenance while no session works: ageing once a day, optionally a weekly curator run.

It checks periodically; `skills_store.curation.schedule` knows when something is due.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio
from anyio import to_thread

from acp_server.session.user_notices import Bulletin
from skills_store.curation import Schedule
from skills_store.editor import Keeper
from skills_store.errors import SkillError
from skills_store.lifecycle import apply_transitions, due_transitions
from skills_store.usage import Clock, current_time

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Worker:
    """The activity of one session, as far as maintenance depends on it."""

    is_idle: bool
    """Whether no prompt runs or waits."""
    updated_at: datetime
    """When a prompt last started or ended."""
    bulletin: Bulletin


@dataclass(slots=True)
class Upkeep:
    """The skill maintenance of one home directory, by one server."""

    keeper: Keeper
    schedule: Schedule
    sessions: Callable[[], Iterable[Worker]]
    curate: Callable[[], Awaitable[str]] | None = None
    """Runs the curator and returns a line for the user; None if it only runs on request."""
    now: Clock = current_time
    _began_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Start the idle time."""
        self._began_at = self.now()

    async def run(self) -> None:
        """Check periodically, forever."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_EVERY_SECONDS)

    async def look(self) -> None:
        """Run due maintenance. Errors are logged: no user is waiting for the result."""
        workers = tuple(self.sessions())
        if not all(each.is_idle for each in workers):
            return
        try:
            await to_thread.run_sync(self._age)
            idle = self.now() - max((each.updated_at for each in workers), default=self._began_at)
            await self._curate_if_due(workers, idle)
        except (OSError, SkillError) as error:
            logger.info("skill maintenance failed and is retried later: %s", error)

    async def _curate_if_due(self, workers: tuple[Worker, ...], idle: timedelta) -> None:
        if self.curate is None:
            return
        if await to_thread.run_sync(self.schedule.is_curation_due, idle):
            line = await self.curate()
            if workers:  # only the most recently used session shows it
                max(workers, key=lambda each: each.updated_at).bulletin.say(line)

    def _age(self) -> None:
        """Mark skills that have aged, once a day."""
        if not self.schedule.is_ageing_due():
            return
        # Another server may share this home directory.
        with self.schedule.alone():
            due = due_transitions(self.keeper.usage.records(), self.now())
            apply_transitions(self.keeper, due, self.keeper.new_undo_id())
            self.schedule.note_ageing()
