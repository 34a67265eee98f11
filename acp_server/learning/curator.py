"""The curator: a model reorganizes the skills on its own, with skill tools only.

It is asked again while it makes progress and some names still stand out, and until its account
matches the changes that were really made. Changes go through a skill editor that touches only
skills an agent has made.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from uuid import uuid4

from anyio import to_thread

from acp_server.learning.background_gate import UnaskedGate
from acp_server.learning.last_answer import last_answer
from acp_server.learning.review_tools import curator_toolbox
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.side_requests import Nobody
from acp_server.skills.service import SkillRoom
from acp_server.turn.conversation import Conversation, Text, UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.loop import Kit, Spent, Turn
from skills_store.curation import (
    Block,
    BlockError,
    Candidate,
    CuratorKeeper,
    Hints,
    archivals,
    discrepancies,
    find_candidates,
    hints_on,
    parse_block,
)

logger = logging.getLogger(__name__)

MOST_ROUNDS = 8
MOST_CORRECTIONS = 2
MOST_REQUESTS = 80
"""Model requests in one round."""

ASKED = "These are the skills that you may change and archive:\n\n{skills}\n\n{hints}"
NO_HINTS = "Nothing stands out among their names. Read those whose descriptions are close."
STANDS_OUT = "What stands out among their names, to begin with:\n\n{hints}"
FOUND = "Reviews of conversations have found these to overlap:\n\n{overlaps}"
GO_ON = (
    "Some still stand out:\n\n{hints}\n\nLook at them again with the skills as they are now, and "
    "merge what belongs together. If they are right as they are, leave them. Either way end with "
    "the whole YAML block again, with everything that you archived until now."
)
CORRECT = (
    "The YAML block is not what happened:\n\n{faults}\n\nChange nothing more; write the block "
    "again, whole and right."
)


@dataclass(slots=True)
class Curator:
    """One run of the curator over the skills of a service."""

    room: SkillRoom
    catalog: ModelCatalog
    keeper: CuratorKeeper
    model_id: str = ""
    """The model to use; empty for the catalog's default."""
    overlaps: Sequence[str] = ()
    """Skills that reviews found to overlap, a few names in each entry."""
    spent: Spent = field(default_factory=Spent)
    block: Block = field(default_factory=Block, init=False)
    """The curator's own account of its changes, as far as it can be parsed."""
    faults: tuple[str, ...] = field(default=(), init=False)
    """Differences between the account and the real changes, or why the run ended early."""
    has_answered: bool = field(default=False, init=False)
    """Whether the account covers everything done so far."""
    _conversation: Conversation = field(default_factory=Conversation, init=False)

    async def run(self) -> None:
        """Run all rounds. If the model fails, the run ends early and its changes stay."""
        candidates = await to_thread.run_sync(find_candidates, self.keeper)
        if not candidates:
            return
        kit = self._kit()
        question = _first_question(candidates, self.overlaps)
        corrections = done = 0
        for _ in range(MOST_ROUNDS):
            if not await self._ask(question, kit):
                return
            # Corrections are bounded by MOST_CORRECTIONS, rounds by MOST_ROUNDS: a model that never
            # agrees with the facts must not run up costs.
            corrections += bool(self.faults)
            question = await self._next_question(corrections, done)
            if question is None:
                return
            done = len(archivals(self.keeper.made))

    async def _ask(self, question: str, kit: Kit) -> bool:
        """Ask once and check the account against the real changes; return whether it answered."""
        # Until the answer is judged, an account from an earlier round no longer covers everything.
        self.has_answered = False
        turn = Turn(self._conversation, kit, Nobody(), self.spent)
        try:
            await turn.run(UserMessage((Text(question),)))
        except TurnError as error:
            self.faults = (f"The model failed: {error.reason}",)
            return False
        self._judge(last_answer(self._conversation))
        return True

    def _judge(self, answer: str) -> None:
        self.has_answered = True
        try:
            self.block = parse_block(answer)
        except BlockError as error:
            self.faults = (f"The curator's account cannot be read: {error}.",)
        else:
            self.faults = discrepancies(self.block, archivals(self.keeper.made))

    async def _next_question(self, corrections: int, done: int) -> str | None:
        """Return the next question, or None to stop."""
        if self.faults:
            faults = "\n".join(f"- {fault}" for fault in self.faults)
            return CORRECT.format(faults=faults) if corrections <= MOST_CORRECTIONS else None
        candidates = await to_thread.run_sync(find_candidates, self.keeper)
        hints = hints_on(each.name for each in candidates)
        # Without progress the same question would get the same answer.
        has_progressed = len(archivals(self.keeper.made)) > done
        return GO_ON.format(hints=_told(hints)) if hints and has_progressed else None

    def _kit(self) -> Kit:
        model_id = self.model_id or self.catalog.default_id
        prompt = files("acp_server.learning") / "text" / "curator.md"
        return Kit(
            model=self.catalog.model(model_id),
            meter=self.catalog.meter(model_id),
            toolbox=curator_toolbox(self.room, self.keeper, UnaskedGate(self.keeper.home.skills)),
            new_id=_new_id,
            system=prompt.read_text("utf-8").strip(),
            thought_level=self.catalog.default_thought_level(model_id),
            max_requests=MOST_REQUESTS,
        )


def _first_question(candidates: Sequence[Candidate], overlaps: Sequence[str]) -> str:
    lines = (f"- {_placed(each)}: {' '.join(each.description.split())}" for each in candidates)
    hints = hints_on(each.name for each in candidates)
    told = STANDS_OUT.format(hints=_told(hints)) if hints else NO_HINTS
    asked = ASKED.format(skills="\n".join(lines), hints=told)
    found = "\n".join(f"- {each}" for each in overlaps)
    return f"{asked}\n\n{FOUND.format(overlaps=found)}" if overlaps else asked


def _placed(candidate: Candidate) -> str:
    return f"{candidate.category}/{candidate.name}" if candidate.category else candidate.name


def _told(hints: Hints) -> str:
    return "\n".join(f"- {line}" for line in _hint_lines(hints))


def _hint_lines(hints: Hints) -> Iterator[str]:
    for word, names in hints.clusters:
        yield f"begin with {word!r}: {', '.join(names)}"
    for name, why in hints.narrow:
        yield f"{name} {why}"


def _new_id() -> str:
    return f"msg_{uuid4().hex}"
