"""The curator: a model reorganizes the skills on its own, with skill tools only.

It is asked again while it makes progress and some names still stand out, and until its account
matches the changes that were really made. Changes go through a skill editor that touches only
skills an agent has made.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.resources import files

from anyio import to_thread

from acp_server.learning.background_gate import BackgroundGate
from acp_server.learning.last_answer import last_answer
from acp_server.learning.review_tools import build_curator_toolbox
from acp_server.session.ids import new_id
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.side_requests import NullSink
from acp_server.skills.service import SkillService
from acp_server.turn.context import TurnContext
from acp_server.turn.conversation import Conversation, Text, UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.loop import Turn
from acp_server.turn.usage_totals import UsageTotals
from skills_store.curation.candidates import (
    CurationCandidate,
    NameHints,
    find_candidates,
    find_name_hints,
)
from skills_store.curation.merging import CuratorSkillEditor
from skills_store.curation.outcome import archive_outcomes, find_discrepancies
from skills_store.curation.summary import CuratorSummary, CuratorSummaryError, parse_summary

logger = logging.getLogger(__name__)

MAX_ROUNDS = 8
MAX_CORRECTIONS = 2
MAX_REQUESTS = 80
"""Model requests in one round."""

FIRST_QUESTION = "These are the skills that you may change and archive:\n\n{skills}\n\n{hints}"
NO_HINTS = "Nothing stands out among their names. Read those whose descriptions are close."
NAME_HINTS = "What stands out among their names, to begin with:\n\n{hints}"
OVERLAPS_FOUND = "Reviews of conversations have found these to overlap:\n\n{overlaps}"
NEXT_ROUND = (
    "Some still stand out:\n\n{hints}\n\nLook at them again with the skills as they are now, and "
    "merge what belongs together. If they are right as they are, leave them. Either way end with "
    "the whole YAML block again, with everything that you archived until now."
)
CORRECTION = (
    "The YAML block is not what happened:\n\n{faults}\n\nChange nothing more; write the block "
    "again, whole and right."
)


@dataclass(slots=True)
class Curator:
    """One run of the curator over the skills of a service."""

    skill_service: SkillService
    catalog: ModelCatalog
    skill_editor: CuratorSkillEditor
    model_id: str = ""
    """The model to use; empty for the catalog's default."""
    overlaps: Sequence[str] = ()
    """Skills that reviews found to overlap, a few names in each entry."""
    usage_totals: UsageTotals = field(default_factory=UsageTotals)
    summary: CuratorSummary = field(default_factory=CuratorSummary, init=False)
    """The curator's own account of its changes, as far as it can be parsed."""
    issues: tuple[str, ...] = field(default=(), init=False)
    """Differences between the account and the real changes, or why the run ended early."""
    has_answered: bool = field(default=False, init=False)
    """Whether the account covers everything done so far."""
    _conversation: Conversation = field(default_factory=Conversation, init=False)

    async def run(self) -> None:
        """Run all rounds. If the model fails, the run ends early and its changes stay."""
        candidates = await to_thread.run_sync(find_candidates, self.skill_editor)
        if not candidates:
            return
        turn_context = self._build_context()
        question = _first_question(candidates, self.overlaps)
        corrections = archived_count = 0
        for _ in range(MAX_ROUNDS):
            if not await self._ask(question, turn_context):
                return
            # Corrections are bounded by MAX_CORRECTIONS, rounds by MAX_ROUNDS: a model that never
            # agrees with the facts must not run up costs.
            corrections += bool(self.issues)
            question = await self._next_question(corrections, archived_count)
            if question is None:
                return
            archived_count = len(archive_outcomes(self.skill_editor.changes))

    async def _ask(self, question: str, turn_context: TurnContext) -> bool:
        """Ask once and check the account against the real changes; return whether it answered."""
        # Until the answer is judged, an account from an earlier round no longer covers everything.
        self.has_answered = False
        turn = Turn(self._conversation, turn_context, NullSink(), self.usage_totals)
        try:
            await turn.run(UserMessage((Text(question),)))
        except TurnError as error:
            self.issues = (f"The model failed: {error.reason}",)
            return False
        self.has_answered = True
        try:
            self.summary = parse_summary(last_answer(self._conversation))
        except CuratorSummaryError as error:
            self.issues = (f"The curator's account cannot be read: {error}.",)
        else:
            outcomes = archive_outcomes(self.skill_editor.changes)
            self.issues = find_discrepancies(self.summary, outcomes)
        return True

    async def _next_question(self, corrections: int, archived_count: int) -> str | None:
        """Return the next question, or None to stop."""
        if self.issues:
            issue_lines = "\n".join(f"- {issue}" for issue in self.issues)
            return CORRECTION.format(faults=issue_lines) if corrections <= MAX_CORRECTIONS else None
        candidates = await to_thread.run_sync(find_candidates, self.skill_editor)
        hints = find_name_hints(each.name for each in candidates)
        # Without progress the same question would get the same answer.
        has_progressed = len(archive_outcomes(self.skill_editor.changes)) > archived_count
        return NEXT_ROUND.format(hints=_hint_list(hints)) if hints and has_progressed else None

    def _build_context(self) -> TurnContext:
        model_id = self.model_id or self.catalog.default_id
        prompt = files("acp_server.learning") / "text" / "curator.md"
        return TurnContext(
            model=self.catalog.model(model_id),
            meter=self.catalog.meter(model_id),
            toolbox=build_curator_toolbox(
                self.skill_service, self.skill_editor, BackgroundGate(self.skill_editor.home.skills)
            ),
            new_id=new_id,
            system=prompt.read_text("utf-8").strip(),
            thought_level=self.catalog.default_thought_level(model_id),
            max_requests=MAX_REQUESTS,
        )


def _first_question(candidates: Sequence[CurationCandidate], overlaps: Sequence[str]) -> str:
    lines = (
        f"- {_qualified_name(each)}: {' '.join(each.description.split())}" for each in candidates
    )
    hints = find_name_hints(each.name for each in candidates)
    hint_text = NAME_HINTS.format(hints=_hint_list(hints)) if hints else NO_HINTS
    question = FIRST_QUESTION.format(skills="\n".join(lines), hints=hint_text)
    overlap_list = "\n".join(f"- {each}" for each in overlaps)
    return f"{question}\n\n{OVERLAPS_FOUND.format(overlaps=overlap_list)}" if overlaps else question


def _qualified_name(candidate: CurationCandidate) -> str:
    return f"{candidate.category}/{candidate.name}" if candidate.category else candidate.name


def _hint_list(hints: NameHints) -> str:
    clusters = [f"- begin with {word!r}: {', '.join(names)}" for word, names in hints.clusters]
    return "\n".join([*clusters, *(f"- {name} {reason}" for name, reason in hints.narrow)])
