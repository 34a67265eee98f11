"""A review of a conversation: what is asked, and how it ends.

A review is a second pass of the session's model over the conversation as it stands, with one more
message behind it, so that it is read from the provider's cache. It works on a copy: of what is said
in it, nothing comes into the conversation, and nothing is shown but one line about what it changed.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files

import anyio
from anyio import to_thread

from acp_server.evolution.answers import last_answer
from acp_server.evolution.gate import UnaskedGate
from acp_server.evolution.proposals import Proposals
from acp_server.evolution.standby import Bench, ReviewRules
from acp_server.evolution.tally import Intervals
from acp_server.evolution.toolbox import PassToolbox
from acp_server.session.asking import Nobody
from acp_server.session.reviews import Reviewed
from acp_server.turn.conversation import Conversation, Text, ToolCall, UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.loop import Kit, Spent, Turn
from acp_server.turn.ports import Outcome, Toolbox

logger = logging.getLogger(__name__)

MOST_CALLS = 16
MEMORY_TOOLS = frozenset({"memory"})
_OVERLAP = re.compile(r"^\W*Overlap:[ `]*([\w.:/-]+(?:[ `]*,[ `]*[\w.:/-]+)+)", re.MULTILINE)
SKILL_TOOLS = frozenset({"skills_list", "skill_view", "skill_manage"})


async def run_review(rules: ReviewRules, reviewed: Reviewed, scope: anyio.CancelScope) -> None:
    """Review a conversation; what the scope's end cuts short changes nothing more."""
    await Review(rules, reviewed, scope).run()


class Review:
    """One review, from its question to the line that tells of it."""

    def __init__(self, rules: ReviewRules, reviewed: Reviewed, scope: anyio.CancelScope) -> None:
        self._rules = rules
        self._reviewed = reviewed
        self._gate = UnaskedGate(
            rules.skills,
            "propose" if rules.writes == "propose" else "apply",
            may_propose=True,
            mode=reviewed.mode,
            is_over=lambda: scope.cancel_called,
        )
        self._proposals = Proposals(rules.proposals, reviewed.session_id)

    async def run(self) -> None:
        """Review the conversation. A model that fails is logged, and that is all."""
        try:
            kit = await self._reviewed.kit()
        except TurnError as error:
            logger.info("the conversation cannot be reviewed: %s", error.reason)
            return
        bench = await self._rules.bench(self._reviewed.workspace, self._gate)
        question = _question(self._rules.intervals, kit, bench.toolbox)
        if question is not None:
            await self._ask(question, kit, bench)

    async def _ask(self, question: str, kit: Kit, bench: Bench) -> None:
        note = partial(self._note, bench)
        toolbox = PassToolbox(kit.toolbox.specs, bench.toolbox, note, MOST_CALLS)
        own_kit = replace(
            kit, toolbox=toolbox, max_requests=MOST_CALLS, upkeep=None, record=None, asides=None
        )
        conversation, spent = Conversation(tuple(self._reviewed.conversation)), Spent()
        try:
            turn = Turn(conversation, own_kit, Nobody(), spent)
            await turn.run(UserMessage((Text(question),)))
            await self._pass_on_overlaps(last_answer(conversation), bench)
        except TurnError as error:
            logger.info("the review has failed: %s", error.reason)
        finally:  # also when it is cancelled: what was changed and used until then counts
            _add(spent, self._reviewed.spent)
            self._reviewed.keep_facts()
            self._tell(bench.changes())

    async def _note(self, bench: Bench, call: ToolCall, outcome: Outcome) -> None:
        """Count what was done; what the user is to decide about is kept for them."""
        bench.note(call, outcome)
        if call.id not in self._gate.proposed:
            return
        try:
            await to_thread.run_sync(self._proposals.add, call)
        except OSError as error:
            logger.warning("a proposal could not be kept: %s", error)

    async def _pass_on_overlaps(self, answer: str, bench: Bench) -> None:
        """Keep what the curator is to look at."""
        overlaps = [found[1].replace("`", "") for found in _OVERLAP.finditer(answer)]
        if not overlaps:
            return
        try:
            await to_thread.run_sync(bench.note_overlaps, overlaps)
        except OSError as error:
            logger.warning("overlaps of skills could not be kept: %s", error)

    def _tell(self, changes: Sequence[str]) -> None:
        told = list(changes)
        if self._proposals:
            told.append(f"{len(self._proposals)} proposed, see {self._proposals.path}")
        if told:
            self._reviewed.bulletin.say(f"Reviewed the conversation: {'; '.join(told)}.")


def _add(own: Spent, total: Spent) -> None:
    """Add what a review has used; how full the window of the conversation is stays the same."""
    total.usage += own.usage
    total.requests += own.requests
    if own.cost_usd is not None:
        total.cost_usd = (total.cost_usd or 0.0) + own.cost_usd


def _question(intervals: Intervals, kit: Kit, working: Toolbox) -> str | None:
    """Return what the model is asked: about all that the user wants, and the tools allow."""
    told = {spec.name for spec in kit.toolbox.specs}
    there = told & {spec.name for spec in working.specs}
    names = ["review"]
    if intervals.prompts and there >= MEMORY_TOOLS:
        names.append("review_memory")
    if intervals.steps and there >= SKILL_TOOLS:
        names.append("review_skills")
    if len(names) == 1:
        return None
    folder = files("acp_server.evolution") / "text"
    return "\n\n".join((folder / f"{name}.md").read_text("utf-8").strip() for name in names)
