"""Entry point of learning between turns; large modules are imported later, in a thread."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from acp_server.learning.review_counters import ReviewIntervals
from acp_server.learning.review_scheduler import (
    ReviewConfig,
    ReviewContext,
    ReviewScheduler,
    ReviewToolsPort,
)
from acp_server.memory.config import MemoryConfig
from acp_server.memory.provider import MirrorWrite, ignore_write
from acp_server.session.context import SessionContext
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.reviews import BuildTurnContext, Reviews
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.skills.config import SkillConfig
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from acp_server.learning.background_gate import BackgroundGate
    from acp_server.learning.skill_maintenance import SkillMaintenance
    from acp_server.skills.service import SkillService

FIRST_CHECK_SECONDS = 60.0
RunReview = Callable[[ReviewConfig, ReviewContext, anyio.CancelScope], Awaitable[None]]


@frozen_dataclass
class LearningContext:
    """The server's parts that learning depends on."""

    catalog: ModelCatalog
    skill_service: "Callable[[], Awaitable[SkillService]]"
    """Returns the skill service, once it is imported."""
    spawn: Callable[[TaskFunction], None]
    """Runs a task in the background."""
    sessions: Callable[[], Iterable[SessionContext]]
    """Returns the open sessions."""
    is_attended: Callable[[], bool]
    """Whether a person uses the client."""


class LearningService:
    """Reviews of all sessions, and the maintenance of the skills."""

    def __init__(
        self, home: Path, memory: MemoryConfig, skills: SkillConfig, context: LearningContext
    ) -> None:
        self._memory = memory
        self._skills = skills
        self._context = context
        self._review_config = ReviewConfig(
            skills_directory=home / "skills",
            proposals_directory=home / "acp" / "proposals",
            spawn=context.spawn,
            build_tools=partial(self._build_review_tools, ignore_write),
            review=_run_review,
            writes=skills.review_writes,
            intervals=ReviewIntervals(skills.creation_nudge_interval, memory.nudge_interval),
            wait_seconds=skills.review_wait_seconds,
            is_attended=context.is_attended,
        )
        self._has_started_maintenance = False

    def reviews(self, session: SessionContext, build_turn_context: BuildTurnContext) -> Reviews:
        """Return a session's review scheduler; the first call also starts skill maintenance."""
        if not self._has_started_maintenance:
            self._has_started_maintenance = True
            self._context.spawn(self._run_maintenance)
        review_context = ReviewContext(
            session_id=session.id,
            workspace=session.workspace.cwd,
            conversation=session.conversation,
            totals=session.totals,
            notices=session.notices,
            mode=lambda: session.options.mode,
            context=build_turn_context,
            save_facts=session.recorder.save_facts,
        )
        build_tools = partial(self._build_review_tools, session.external_memory.mirror)
        config = replace(self._review_config, build_tools=build_tools)
        return ReviewScheduler(config, review_context)

    async def _build_review_tools(
        self, mirror: MirrorWrite, workspace: Path, gate: "BackgroundGate"
    ) -> ReviewToolsPort:
        skill_service = await self._context.skill_service()

        def build() -> ReviewToolsPort:
            from acp_server.learning.review_tools import build_review_tools

            return build_review_tools(skill_service, self._memory, workspace, gate, mirror)

        return await to_thread.run_sync(build)

    async def _run_maintenance(self) -> None:
        """Maintain the skills, after a delay that keeps the server's start fast."""
        await anyio.sleep(FIRST_CHECK_SECONDS)
        skill_service = await self._context.skill_service()
        maintenance = await to_thread.run_sync(
            _import_maintenance, skill_service, self._skills, self._context
        )
        await maintenance.run()


async def _run_review(
    config: ReviewConfig, review_context: ReviewContext, scope: anyio.CancelScope
) -> None:
    run = await to_thread.run_sync(_import_review)
    await run(config, review_context, scope)


def _import_review() -> RunReview:
    from acp_server.learning.review import run_review

    return run_review


def _import_maintenance(
    skill_service: "SkillService", skills: SkillConfig, learning_context: LearningContext
) -> "SkillMaintenance":
    from acp_server.learning.curator_run import CuratorRuns
    from acp_server.learning.skill_maintenance import SessionActivity, SkillMaintenance
    from skills_store.curation.schedule import CurationSchedule
    from skills_store.home import AgentHome

    async def curate() -> str:
        return (await CuratorRuns(skill_service, learning_context.catalog).run()).notice

    return SkillMaintenance(
        skill_editor=skill_service.skill_roots(None).editor,
        schedule=CurationSchedule(AgentHome(skill_service.home)),
        sessions=lambda: [
            SessionActivity(each.queue.is_empty, each.recorder.facts.updated_at, each.notices)
            for each in learning_context.sessions()
        ],
        curate=curate if skills.curator == "auto" else None,
    )
