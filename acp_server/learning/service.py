"""Entry point of learning between turns; large modules are imported later, in a thread."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from acp_server.learning.review_counters import Intervals
from acp_server.learning.review_scheduler import Bench, ReviewRules, ReviewWrites, SessionReviews
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.reviews import KitMaker, Reviewed, Reviews, reviewed
from acp_server.session.prompting.file_watch import Task
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.lazy_imports import MemoryPremises

if TYPE_CHECKING:
    from acp_server.learning.background_gate import UnaskedGate
    from acp_server.learning.skill_maintenance import Upkeep
    from acp_server.session.session import Session
    from acp_server.skills.service import SkillRoom

FIRST_LOOK_SECONDS = 60.0
RunReview = Callable[[ReviewRules, Reviewed, anyio.CancelScope], Awaitable[None]]


@frozen
class EvolutionRules:
    """The settings of learning between turns."""

    home: Path
    """HERMES_HOME."""
    memory: MemoryPremises
    review_writes: ReviewWrites = "apply"
    intervals: Intervals = field(default_factory=Intervals)
    review_wait_seconds: float = 5.0
    curates_unasked: bool = False


@frozen
class ServerParts:
    """The server's parts that learning depends on."""

    catalog: ModelCatalog
    room: "Callable[[], Awaitable[SkillRoom]]"
    """Returns the skill service, once it is imported."""
    spawn: Callable[[Task], None]
    """Runs a task in the background."""
    sessions: "Callable[[], Iterable[Session]]"
    is_attended: Callable[[], bool]
    """Whether a person uses the client."""


class Evolution:
    """Reviews of all sessions, and the maintenance of the skills."""

    def __init__(self, rules: EvolutionRules, around: ServerParts) -> None:
        self._rules = rules
        self._around = around
        self._review_rules = ReviewRules(
            skills=rules.home / "skills",
            proposals=rules.home / "acp" / "proposals",
            spawn=around.spawn,
            bench=self._bench,
            review=_review,
            writes=rules.review_writes,
            intervals=rules.intervals,
            wait_seconds=rules.review_wait_seconds,
            is_attended=around.is_attended,
        )
        self._is_kept_up = False

    def reviews(self, session: "Session", kit: KitMaker) -> Reviews:
        """Return a session's review scheduler; the first call also starts skill maintenance."""
        if not self._is_kept_up:
            self._is_kept_up = True
            self._around.spawn(self._keep_up)
        return SessionReviews(self._review_rules, reviewed(session, kit))

    async def _bench(self, workspace: Path, gate: "UnaskedGate") -> Bench:
        room = await self._around.room()
        return await to_thread.run_sync(_review_bench, room, self._rules.memory, workspace, gate)

    async def _keep_up(self) -> None:
        """Maintain the skills, after a delay that keeps the server's start fast."""
        await anyio.sleep(FIRST_LOOK_SECONDS)
        room = await self._around.room()
        upkeep = await to_thread.run_sync(_upkeep, room, self._rules, self._around)
        await upkeep.run()


async def _review(rules: ReviewRules, reviewed: Reviewed, scope: anyio.CancelScope) -> None:
    run = await to_thread.run_sync(_import_review)
    await run(rules, reviewed, scope)


def _import_review() -> RunReview:
    from acp_server.learning.review import run_review

    return run_review


def _review_bench(
    room: "SkillRoom", memory: MemoryPremises, workspace: Path, gate: "UnaskedGate"
) -> Bench:
    from acp_server.learning.review_tools import review_bench

    return review_bench(room, memory, workspace, gate)


def _upkeep(room: "SkillRoom", rules: EvolutionRules, around: ServerParts) -> "Upkeep":
    from acp_server.learning.curator_run import Curation
    from acp_server.learning.skill_maintenance import Upkeep, Worker
    from skills_store.curation import Schedule
    from skills_store.home import Home

    async def curate() -> str:
        return (await Curation(room, around.catalog).run()).line

    return Upkeep(
        keeper=room.shelf(None).keeper,
        schedule=Schedule(Home(room.home)),
        sessions=lambda: [
            Worker(each.is_idle, each.chronicle.updated_at, each.bulletin)
            for each in around.sessions()
        ],
        curate=curate if rules.curates_unasked else None,
    )
