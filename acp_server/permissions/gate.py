"""The gate that every effect of every tool passes.

Fails closed: what cannot be asked is refused. Facts are gathered anew for each decision, and a
decision is made anew when a call's turn to ask has come, for an answer before may cover it.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, assert_never

import anyio
from anyio import to_thread

from acp_server.permissions.effects import Effect
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import Allow, Ask, Decision, Refuse, decide
from acp_server.permissions.protected import SEARCH_GLOBS
from acp_server.permissions.questions import (
    Asker,
    AskingError,
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


@dataclass(frozen=True, slots=True)
class Refusal:
    """It may not be done; `reason` is for the model."""

    reason: str


class Gate(Protocol):
    """What tools ask before they do anything."""

    def join(self, call_id: str) -> None:
        """Note that a call begins to run: questions are asked in this order."""
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
    _line: QuestionLine = field(default_factory=QuestionLine, init=False)
    _session_rules: list[Rule] = field(default_factory=list[Rule], init=False)

    def join(self, call_id: str) -> None:
        """Take a place among the questions."""
        self._line.join(call_id)

    def leave(self, call_id: str) -> None:
        """Give the place up."""
        self._line.leave(call_id)

    async def pass_through(self, question: Question) -> Refusal | None:
        """Decide by the policy, and ask the user where it says so."""
        decision = await self._decide(question.effect)
        if not isinstance(decision, Ask):
            return _settled(decision)
        async with self._line.at_the_front(question.call_id):
            decision = await self._decide(question.effect)
            if not isinstance(decision, Ask):
                return _settled(decision)
            return await self._asked(question, decision)

    def left_out_of_searches(self) -> Sequence[str]:
        """Return globs of secrets, and what the workspace's ignore file names."""
        if self.mode() == "bypass":
            return ()
        return (*SEARCH_GLOBS, *self.surveyor.ignored_globs())

    async def may_preview(self, path: Path) -> bool:
        """Whether a file is none of the protected ones."""
        return not await to_thread.run_sync(self.surveyor.is_protected, path)

    async def _decide(self, effect: Effect) -> Decision:
        return await to_thread.run_sync(self._decide_now, effect)

    def _decide_now(self, effect: Effect) -> Decision:
        rules = RuleBook([*self._session_rules, *self.store.load(self.root)])
        return decide(self.surveyor.facts(effect), self.mode(), rules)

    async def _asked(self, question: Question, asked: Ask) -> Refusal | None:
        try:
            answer = await self.asker.ask(question, choices_for(asked.scope, self.root))
        except AskingError as error:
            return Refusal(f"this needs the user's leave, and they could not be asked: {error}")
        if answer is None:
            self.cancel_turn()
            await anyio.sleep_forever()  # the cancellation is on its way
        elif asked.scope is not None:
            await self._remember(answer, asked.scope)
        return None if answer in {"allow_once", *_ALLOWED} else Refusal(REJECTED)

    async def _remember(self, answer: ChoiceId, scope: Scope) -> None:
        """Keep what was said for more than this once; what cannot be kept holds for the session."""
        if answer in {"allow_once", "reject_once"}:
            return
        rule = Rule(scope, is_allowed=answer in _ALLOWED)
        self._session_rules.append(rule)
        if answer != "allow_session":
            try:
                await to_thread.run_sync(self.store.add, self.root, rule)
            except OSError as error:
                logger.warning("an answer could not be kept beyond this session: %s", error)


_ALLOWED = frozenset({"allow_session", "allow_workspace"})


def _settled(decision: Allow | Refuse) -> Refusal | None:
    match decision:
        case Allow():
            return None
        case Refuse():
            return Refusal(decision.reason)
        case _:
            assert_never(decision)
