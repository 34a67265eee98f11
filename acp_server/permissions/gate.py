"""The gate that every effect of every tool passes.

Fails closed: what cannot be asked is refused. Facts are gathered anew for each decision. A decision
is made anew when a call's turn to ask has come, for an answer before may cover it; and once more
when the user has said yes, for the mode or the disk may be another by then.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, assert_never

import anyio
from anyio import to_thread

from acp_server.frozen import frozen
from acp_server.permissions.effects import Effect, LeavePlanMode
from acp_server.permissions.modes import Mode
from acp_server.permissions.orders import Orders
from acp_server.permissions.policy import Allow, Ask, Decision, Refuse, decide
from acp_server.permissions.questions import (
    PLAN_CHOICES,
    Asker,
    AskingError,
    Choice,
    ChoiceId,
    Question,
    QuestionLine,
    choices_for,
)
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import Rule, RuleBook
from acp_server.permissions.scopes import Scope
from acp_server.permissions.survey import Surveyor

logger = logging.getLogger(__name__)

REJECTED = "the user rejected this; do not try it another way, go on without it or ask what to do"
PLAN_REJECTED = (
    "the user wants to keep planning and plan mode stays on; ask what is to be different, or end "
    "your turn"
)
UNATTENDED = (
    "the rules of this run do not allow this, and nobody is there to ask; do not try it another "
    "way, do what can be done without it and say in your answer what was left undone"
)
NOT_ASKED = "this needs the user's leave, and they could not be asked: {reason}"
MOVED = "a path in this leads elsewhere by now; nothing was done, make the call again"
CHANGED = "what this touches has changed since it was asked about; make the call again"


@frozen
class Refusal:
    """It may not be done; `reason` is for the model."""

    reason: str


class Gate(Protocol):
    """What tools ask before they do anything."""

    def join(self, call_id: str, tool: str = "") -> None:
        """Note that a call of a tool begins to run: questions are asked in this order."""
        ...

    def step_aside(self, call_id: str) -> None:
        """Note that a call goes on, and that the questions of others need not wait for it."""
        ...

    def leave(self, call_id: str) -> None:
        """Note that a call has ended, whether it asked or not."""
        ...

    async def pass_through(self, question: Question) -> Refusal | None:
        """Return None when the effect may be had, at once or after the user said so."""
        ...

    def left_out_of_searches(self) -> Sequence[str]:
        """Return globs of files whose contents no search shows unasked."""
        ...

    async def may_preview(self, path: Path) -> bool:
        """Whether a file's text may be shown before anybody was asked."""
        ...


NoteAnswer = Callable[[str, str], Awaitable[None]]


async def _forget(call_id: str, answer: str) -> None:
    del call_id, answer


def _stay(mode: Mode) -> None:
    del mode


@frozen
class Passage:
    """What became of one effect at the gate."""

    call_id: str
    tool: str
    effect: Effect
    refusal: Refusal | None
    """None: it might be had."""


Witness = Callable[[Passage], None]


def look_away(passage: Passage) -> None:
    """Take no note."""
    del passage


@dataclass(slots=True)
class PermissionGate:
    """The gate of one session."""

    mode: Callable[[], Mode]
    asker: Asker
    cancel_turn: Callable[[], None]
    surveyor: Surveyor
    store: RuleStore
    root: Path
    """The session's folder, links resolved: what is kept, is kept for it."""
    note_answer: NoteAnswer = _forget
    """Called with a call's id and the answer, before that is acted upon."""
    switch_mode: Callable[[Mode], None] = _stay
    """Called with the mode that the user has chosen with a plan, and for nothing else."""
    orders: Orders | None = None
    """The rules of a run that nobody attends."""
    witness: Witness = look_away
    """Called with what became of each effect, before it is had."""
    _tools: dict[str, list[str]] = field(default_factory=dict[str, list[str]], init=False)
    """The tools of the calls that run, by the calls' ids; a model may give one id twice."""
    _line: QuestionLine = field(default_factory=QuestionLine, init=False)
    _session_rules: list[Rule] = field(default_factory=list[Rule], init=False)

    def join(self, call_id: str, tool: str = "") -> None:
        """Take a place among the questions; whose call it is, is known until it leaves."""
        self._tools.setdefault(call_id, []).append(tool)
        self._line.join(call_id)

    def step_aside(self, call_id: str) -> None:
        """Give the place up; a call that asks after all takes a new one."""
        self._line.leave(call_id)

    def leave(self, call_id: str) -> None:
        """Give the place up, and forget the call."""
        self._line.leave(call_id)
        tools = self._tools.get(call_id)
        if tools:
            tools.pop()
        if not tools:
            self._tools.pop(call_id, None)

    async def pass_through(self, question: Question) -> Refusal | None:
        """Decide by the policy, and ask the user where it says so."""
        refusal = await self._judged(question)
        tool = self._tool_of(question.call_id)
        self.witness(Passage(question.call_id, tool, question.effect, refusal))
        return refusal

    async def _judged(self, question: Question) -> Refusal | None:
        decision = await self._decide(question)
        if not isinstance(decision, Ask):
            self._line.leave(question.call_id)
            return _settled(decision)
        async with self._line.at_the_front(question.call_id):
            decision = await self._decide(question)
            if not isinstance(decision, Ask):
                return _settled(decision)
            return await self._asked(question, decision)

    def left_out_of_searches(self) -> Sequence[str]:
        """Return globs of secrets, of settings, and what the workspace's ignore files name."""
        if self.mode() == "bypass":
            return ()
        return self.surveyor.left_out_of_searches()

    async def may_preview(self, path: Path) -> bool:
        """Whether a file is none of the protected ones."""
        return not await to_thread.run_sync(
            self.surveyor.is_protected, path, abandon_on_cancel=True
        )

    async def _decide(self, question: Question) -> Decision:
        tool = self._tool_of(question.call_id)
        return await to_thread.run_sync(
            self._decide_now, question.effect, tool, abandon_on_cancel=True
        )

    def _tool_of(self, call_id: str) -> str:
        """Return the tool whose call this is; empty for what no tool does."""
        tools = self._tools.get(call_id)
        return tools[-1] if tools else ""

    def _decide_now(self, effect: Effect, tool: str) -> Decision:
        rules = RuleBook([*self._session_rules, *self.store.load(self.root)])
        facts = self.surveyor.facts(effect)
        decision = decide(facts, self.mode(), rules)
        if self.orders is not None:
            decision = self.orders.applied(decision, tool, facts, self.root)
        return Refuse(MOVED) if self.surveyor.has_moved(effect) else decision

    async def _asked(self, question: Question, asked: Ask) -> Refusal | None:
        choices = self._choices(question.effect, asked)
        try:
            answer = await self.asker.ask(replace(question, reason=asked.reason), choices)
        except AskingError as error:
            return Refusal(NOT_ASKED.format(reason=error))
        if answer is None:
            return await self._give_up()
        await self.note_answer(question.call_id, answer)
        if answer not in {choice.id for choice in choices}:
            return Refusal(NOT_ASKED.format(reason="the answer was none of those offered"))
        if asked.scope is not None:
            await self._remember(answer, asked.scope)
        if answer not in _YES:
            return Refusal(self._rejection(choices))
        refusal = await self._confirmed(question, asked)
        if refusal is None and answer in _MODES:
            self.switch_mode(_MODES[answer])
        return refusal

    def _choices(self, effect: Effect, asked: Ask) -> Sequence[Choice]:
        is_plan = isinstance(effect, LeavePlanMode)
        return PLAN_CHOICES if is_plan else choices_for(asked.scope, self.root)

    def _rejection(self, choices: Sequence[Choice]) -> str:
        if self.orders is not None:
            return UNATTENDED
        return PLAN_REJECTED if choices == PLAN_CHOICES else REJECTED

    async def _give_up(self) -> Refusal:
        """End the turn: the user turned away from the question."""
        self.cancel_turn()
        await anyio.sleep_forever()  # the cancellation is on its way
        return Refusal(REJECTED)

    async def _confirmed(self, question: Question, asked: Ask) -> Refusal | None:
        """Hold a yes against what is so by now: mode, rules and links may have changed."""
        decision = await self._decide(question)
        if isinstance(decision, Ask):
            return None if decision == asked else Refusal(CHANGED)
        return _settled(decision)

    async def _remember(self, answer: ChoiceId, scope: Scope) -> None:
        """Keep what was said for more than this once; what cannot be kept holds for the session."""
        if answer in _ONCE:
            return
        rule = Rule(scope, is_allowed=answer in _YES)
        self._session_rules.append(rule)
        if answer in _KEPT:
            try:
                await to_thread.run_sync(self.store.add, self.root, rule, abandon_on_cancel=True)
            except OSError as error:
                logger.warning("an answer could not be kept beyond this session: %s", error)


_MODES: Mapping[ChoiceId, Mode] = {"accept_and_ask": "ask", "accept_edits": "accept_edits"}
_YES: frozenset[ChoiceId] = frozenset({"allow_once", "allow_session", "allow_workspace", *_MODES})
_ONCE: frozenset[ChoiceId] = frozenset({"allow_once", "reject_once"})
_KEPT: frozenset[ChoiceId] = frozenset({"allow_workspace", "reject_workspace"})


def _settled(decision: Allow | Refuse) -> Refusal | None:
    match decision:
        case Allow():
            return None
        case Refuse():
            return Refusal(decision.reason)
        case _:
            assert_never(decision)
