"""What is done for the skills while nobody works: ages once a day, a curator once a week if wanted.

Looks now and then whether it is time; when that is, `skills_store.curation.schedule` knows.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import anyio
from anyio import to_thread

from acp_server.session.bulletin import Bulletin
from skills_store.curation import Schedule
from skills_store.errors import SkillError
from skills_store.lifecycle import apply_transitions, due_transitions
from skills_store.manage import Keeper
from skills_store.usage import Clock, current_time

logger = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 600.0


@dataclass(frozen=True, slots=True)
class Worker:
    """A session, as far as it matters whether somebody works."""

    is_idle: bool
    """Whether no prompt runs or waits."""
    updated_at: datetime
    """When a prompt began or ended last."""
    bulletin: Bulletin


@dataclass(slots=True)
class Upkeep:
    """The upkeep of one home, by one server."""

    keeper: Keeper
    schedule: Schedule
    sessions: Callable[[], Iterable[Worker]]
    curate: Callable[[], Awaitable[str]] | None = None
    """Has a curator put the skills in order, and returns a line for the user; None: not unasked."""
    now: Clock = current_time
    _began_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Begin to wait."""
        self._began_at = self.now()

    async def run(self) -> None:
        """Look from time to time, for ever."""
        while True:
            await self.look()
            await anyio.sleep(LOOK_EVERY_SECONDS)

    async def look(self) -> None:
        """Do what it is time for. What goes wrong is logged: nobody has asked for it."""
        workers = tuple(self.sessions())
        if not all(each.is_idle for each in workers):
            return
        try:
            await to_thread.run_sync(self._age)
            idle = self.now() - max((each.updated_at for each in workers), default=self._began_at)
            await self._curate_if_due(workers, idle)
        except (OSError, SkillError) as error:
            logger.info("the skills were not put in order: %s", error)

    async def _curate_if_due(self, workers: tuple[Worker, ...], idle: timedelta) -> None:
        if self.curate is None:
            return
        if await to_thread.run_sync(self.schedule.is_curation_due, idle):
            line = await self.curate()
            if workers:  # one line is enough: the session that was used last has it
                max(workers, key=lambda each: each.updated_at).bulletin.say(line)

    def _age(self) -> None:
        """Note which skills have aged, once a day."""
        if not self.schedule.is_ageing_due():
            return
        with self.schedule.alone():
            due = due_transitions(self.keeper.usage.records(), self.now())
            apply_transitions(self.keeper, due, self.keeper.new_undo_id())
            self.schedule.note_ageing()
