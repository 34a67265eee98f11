"""A review of a conversation: the question, the model run, and the notice about the result.

A review runs the session's model once more over the current conversation with one message appended,
so that the provider reads it from its cache. It works on a copy: none of its messages enter the
conversation, and the user sees only one line about the changes.
"""

import logging
import re
from dataclasses import replace
from functools import partial
from importlib.resources import files

import anyio
from anyio import to_thread

from acp_server.learning.background_gate import BackgroundGate
from acp_server.learning.last_answer import last_answer
from acp_server.learning.proposals import Proposals
from acp_server.learning.review_counters import ReviewIntervals
from acp_server.learning.review_scheduler import ReviewConfig, ReviewContext, ReviewToolsPort
from acp_server.learning.review_toolbox import ReviewToolbox
from acp_server.session.side_requests import NullSink
from acp_server.turn.context import TurnContext
from acp_server.turn.context_counter import ContextCounter
from acp_server.turn.conversation import Conversation, Text, ToolCall, UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.loop import Turn
from acp_server.turn.ports import Toolbox, ToolOutcome
from acp_server.turn.usage_totals import UsageTotals

logger = logging.getLogger(__name__)

MAX_CALLS = 16
MEMORY_TOOLS = frozenset({"memory"})
_OVERLAP = re.compile(r"^\W*Overlap:[ `]*([\w.:/-]+(?:[ `]*,[ `]*[\w.:/-]+)+)", re.MULTILINE)
SKILL_TOOLS = frozenset({"skills_list", "skill_view", "skill_manage"})


async def run_review(
    config: ReviewConfig, review_context: ReviewContext, scope: anyio.CancelScope
) -> None:
    """Review a conversation. Once `scope` is cancelled, nothing more is changed."""
    await Review(config, review_context, scope).run()


class Review:
    """One review, from its question to the notice about its changes."""

    def __init__(
        self, config: ReviewConfig, review_context: ReviewContext, scope: anyio.CancelScope
    ) -> None:
        self._config = config
        self._review_context = review_context
        self._gate = BackgroundGate(
            config.skills_directory,
            "propose" if config.writes == "propose" else "apply",
            can_propose=True,
            mode=review_context.mode,
            # `cancel_called` and not the end of the task: it turns true the moment a prompt
            # arrives.
            has_ended=lambda: scope.cancel_called,
        )
        self._proposals = Proposals(config.proposals_directory, review_context.session_id)

    async def run(self) -> None:
        """Review the conversation. If the model fails, log it."""
        try:
            turn_context = await self._review_context.context()
        except TurnError as error:
            logger.info("cannot review the conversation: %s", error.reason)
            return
        tools = await self._config.build_tools(self._review_context.workspace, self._gate)
        question = _build_question(self._config.intervals, turn_context, tools.toolbox)
        if question is not None:
            await self._ask(question, turn_context, tools)

    async def _ask(self, question: str, turn_context: TurnContext, tools: ReviewToolsPort) -> None:
        on_outcome = partial(self._record_outcome, tools)
        # The session's tool specifications, unchanged: any difference would miss the provider's
        # cache.
        toolbox = ReviewToolbox(turn_context.toolbox.specs, tools.toolbox, on_outcome, MAX_CALLS)
        # No compaction, journal, mid-turn input or count: those are the session's conversation's.
        isolated_context = replace(
            turn_context,
            toolbox=toolbox,
            max_requests=MAX_CALLS,
            maintenance=None,
            durability=None,
            mid_turn_input=None,
            counter=ContextCounter(),
            may_say_nothing=True,
        )
        conversation, totals = Conversation(tuple(self._review_context.conversation)), UsageTotals()
        try:
            turn = Turn(conversation, isolated_context, NullSink(), totals)
            await turn.run(UserMessage((Text(question),)))
            await self._save_overlaps(last_answer(conversation), tools)
        except TurnError as error:
            logger.info("the review failed: %s", error.reason)
        # Also when cancelled: changes made and tokens used so far count. Nothing here awaits, so no
        # shield is needed.
        finally:
            # All but the context size, which did not change.
            session_totals = self._review_context.totals
            session_totals.usage += totals.usage
            session_totals.requests += totals.requests
            if totals.cost_usd is not None:
                session_totals.cost_usd = (session_totals.cost_usd or 0.0) + totals.cost_usd
            self._review_context.save_facts()
            phrases = list(tools.describe_changes())
            if self._proposals:
                phrases.append(f"{len(self._proposals)} proposed, see {self._proposals.path}")
            if phrases:
                notice = f"Reviewed the conversation: {'; '.join(phrases)}."
                self._review_context.notices.add(notice)

    async def _record_outcome(
        self, tools: ReviewToolsPort, call: ToolCall, outcome: ToolOutcome
    ) -> None:
        """Record a call; one that needs the user's decision is saved as a proposal."""
        tools.record_outcome(call, outcome)
        if call.id not in self._gate.proposed_call_ids:
            return
        try:
            await to_thread.run_sync(self._proposals.add, call)
        except OSError as error:
            logger.warning("cannot save a proposal: %s", error)

    async def _save_overlaps(self, answer: str, tools: ReviewToolsPort) -> None:
        """Store the overlapping skills named in the answer, for the curator."""
        overlaps = [found[1].replace("`", "") for found in _OVERLAP.finditer(answer)]
        if not overlaps:
            return
        try:
            await to_thread.run_sync(tools.save_overlaps, overlaps)
        except OSError as error:
            logger.warning("cannot save which skills overlap: %s", error)


def _build_question(
    intervals: ReviewIntervals, turn_context: TurnContext, working: Toolbox
) -> str | None:
    """Return the question, a part for each enabled interval whose tools are available, or None."""
    offered = {spec.name for spec in turn_context.toolbox.specs}
    available = offered & {spec.name for spec in working.specs}
    names = ["review"]
    if intervals.prompts and available >= MEMORY_TOOLS:
        names.append("review_memory")
    if intervals.steps and available >= SKILL_TOOLS:
        names.append("review_skills")
    if len(names) == 1:
        return None
    folder = files("acp_server.learning") / "text"
    return "\n\n".join((folder / f"{name}.md").read_text("utf-8").strip() for name in names)
