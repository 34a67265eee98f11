"""The curator: a model puts the skills in order, by itself, with the tools for skills alone.

It is asked again while it makes progress and something still stands out, and until what it says it
has done is what happened. Its changes are made by a keeper that touches only what an agent made.
"""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from uuid import uuid4

from anyio import to_thread

from acp_server.evolution.answers import last_answer
from acp_server.evolution.bench import curator_toolbox
from acp_server.evolution.gate import UnaskedGate
from acp_server.session.asking import Nobody
from acp_server.session.ports import ModelCatalog
from acp_server.skills.room import SkillRoom
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
"""Calls of the model in one round."""

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
    """One pass of a curator over the skills of a room."""

    room: SkillRoom
    catalog: ModelCatalog
    keeper: CuratorKeeper
    model_id: str = ""
    """The model to ask; the catalog's own choice if empty."""
    overlaps: Sequence[str] = ()
    """What reviews found to overlap, each a few names."""
    spent: Spent = field(default_factory=Spent)
    block: Block = field(default_factory=Block, init=False)
    """What the curator says it has done, as far as it can be read."""
    faults: tuple[str, ...] = field(default=(), init=False)
    """Where that differs from what happened, or why the pass ended early."""
    has_answered: bool = field(default=False, init=False)
    """Whether it has given an account of all that it did."""
    _conversation: Conversation = field(default_factory=Conversation, init=False)

    async def run(self) -> None:
        """Put the skills in order. A model that fails ends it early, and what was done stays."""
        candidates = await to_thread.run_sync(find_candidates, self.keeper)
        if not candidates:
            return
        kit = self._kit()
        question = _first_question(candidates, self.overlaps)
        corrections = done = 0
        for _ in range(MOST_ROUNDS):
            if not await self._ask(question, kit):
                return
            corrections += bool(self.faults)
            question = await self._next_question(corrections, done)
            if question is None:
                return
            done = len(archivals(self.keeper.made))

    async def _ask(self, question: str, kit: Kit) -> bool:
        """Ask once, and hold the answer against what happened; return whether it answered."""
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
        """Return what is asked next; None when nothing is left to ask."""
        if self.faults:
            faults = "\n".join(f"- {fault}" for fault in self.faults)
            return CORRECT.format(faults=faults) if corrections <= MOST_CORRECTIONS else None
        candidates = await to_thread.run_sync(find_candidates, self.keeper)
        hints = hints_on(each.name for each in candidates)
        has_progressed = len(archivals(self.keeper.made)) > done
        return GO_ON.format(hints=_told(hints)) if hints and has_progressed else None

    def _kit(self) -> Kit:
        model_id = self.model_id or self.catalog.default_id
        prompt = files("acp_server.evolution") / "text" / "curator.md"
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
