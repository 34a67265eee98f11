"""Permission gate that every effect of every tool call passes through.

Fails closed: an effect is refused if the user has to be asked and cannot be. Facts about the disk
are collected again for each decision. An effect is decided up to three times: at once, when its
question reaches the front of the queue (an earlier answer may cover it), and after the user agreed
(the mode or the disk may have changed meanwhile).
"""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, assert_never

import anyio
from anyio import to_thread

from acp_server.permissions.claude_rule_reading import describe_rules
from acp_server.permissions.effects import Effect, LeavePlanMode, RestoreFiles
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import Allow, Ask, Decision, Refuse, decide
from acp_server.permissions.questions import (
    PLAN_CHOICES,
    RESTORE_CHOICES,
    AskingError,
    PermissionAsker,
    PermissionChoice,
    PermissionChoiceId,
    PermissionQuestion,
    QuestionQueue,
    choices_for,
)
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import ListedRule, PermissionRule, RuleBook
from acp_server.permissions.run_rules import RunRules, forbid_tool, restrict
from acp_server.permissions.scopes import Scope, describe_scope, scope_parts
from acp_server.permissions.trust import ProjectUse
from acp_server.startup.fast_dataclass import frozen_dataclass

logger = logging.getLogger(__name__)

REJECTED = (
    "the user rejected this; do not try it in another way; go on without it, or ask what to do"
)
PLAN_REJECTED = (
    "the user wants to keep planning, so plan mode stays on; ask what to change, or end your turn"
)
UNATTENDED = (
    "the rules of this run do not allow this, and nobody can be asked; do not try it in another "
    "way; do the rest of the task, and say in your answer what you could not do"
)
NOT_ASKED = "permission is required, but the user could not be asked: {reason}"
MOVED = (
    "a path changed since it was checked (a symbolic link); nothing was done, make the call again"
)
CHANGED = "something that this call uses changed after the user was asked; make the call again"


@frozen_dataclass
class Refusal:
    """Refusal of an effect; `reason` is sent to the model."""

    reason: str
    is_allowable: bool = False
    """Whether a rule of this unattended run would have allowed it."""


class Gate(Protocol):
    """Authorizes the effects of tool calls."""

    def enter_queue(self, call_id: str, tool: str = "") -> None:
        """Register a call that starts to run: questions are asked in this order."""
        ...

    def yield_queue(self, call_id: str) -> None:
        """Give up the call's place in the question queue while the call goes on."""
        ...

    def leave_queue(self, call_id: str) -> None:
        """Unregister a call that has ended, whether it asked or not."""
        ...

    async def authorize(self, question: PermissionQuestion) -> Refusal | None:
        """Return None if the effect is authorized, asking the user if necessary."""
        ...

    async def forbid_tool(self, tool: str) -> Refusal | None:
        """Return why a rule forbids every call of a tool that has no effect of its own."""
        ...

    def search_excludes(self) -> Sequence[str]:
        """Return globs of files whose contents a search must not show without permission."""
        ...

    async def can_preview(self, path: Path) -> bool:
        """Return whether a file's text may be shown before the user was asked."""
        ...


AnswerCallback = Callable[[str, str], Awaitable[None]]


async def _no_answer_note(call_id: str, answer: str) -> None:
    del call_id, answer


def _keep_mode(mode: Mode) -> None:
    del mode


def _ignore_choice() -> None:
    pass


@frozen_dataclass
class AuditRecord:
    """Audit record of one decided effect."""

    call_id: str
    tool: str
    effect: Effect
    refusal: Refusal | None
    """None if the effect was authorized."""


AuditCallback = Callable[[AuditRecord], None]


def no_audit(record: AuditRecord) -> None:
    """Ignore an audit record."""
    del record


@dataclass(slots=True)
class PermissionGate:
    """Permission gate of one session."""

    mode: Callable[[], Mode]
    asker: PermissionAsker
    cancel_turn: Callable[[], None]
    facts: FactCollector
    store: RuleStore
    root: Path
    """The session's directory, symlinks resolved; saved rules belong to it."""
    note_answer: AnswerCallback = _no_answer_note
    """Called with a call's id and the user's answer, before the answer takes effect."""
    switch_mode: Callable[[Mode], None] = _keep_mode
    """Called with the mode that the user chose when accepting a plan, and only then."""
    ask_per_host: Callable[[], None] = _ignore_choice
    """Called if the user chose to be asked for each host that commands connect to."""
    run_rules: RunRules | None = None
    """Allow and deny rules of a headless run; None in an interactive session."""
    audit: AuditCallback = no_audit
    """Called with the audit record of each effect, before the effect happens."""
    _tools: dict[str, list[str]] = field(default_factory=dict[str, list[str]], init=False)
    """Tool names of the running calls, by call id; a model may use one id twice."""
    _queue: QuestionQueue = field(default_factory=QuestionQueue, init=False)
    _session_rules: list[PermissionRule] = field(default_factory=list[PermissionRule], init=False)
    _approved_uses: frozenset[str] = field(default_factory=frozenset[str], init=False)
    """Digests of those settings files of the workspace that may allow something."""
    _listed_uses: frozenset[str] = field(default_factory=frozenset[str], init=False)
    """Digests of those that the user decides on, as far as they were listed."""
    has_new_project_rules: bool = field(default=False, init=False)
    """Whether a decision met rules that were not listed yet."""

    def enter_queue(self, call_id: str, tool: str = "") -> None:
        """Enter the question queue; the call's tool is known until `leave_queue`."""
        # A list: with one id used twice, `leave_queue` of the first must not forget the second.
        self._tools.setdefault(call_id, []).append(tool)
        self._queue.enter(call_id)

    def yield_queue(self, call_id: str) -> None:
        """Leave the question queue; a call that asks later enters it again at the end."""
        self._queue.leave(call_id)

    def leave_queue(self, call_id: str) -> None:
        """Leave the question queue and forget the call's tool."""
        self._queue.leave(call_id)
        tools = self._tools.get(call_id)
        if tools:
            tools.pop()
        if not tools:
            self._tools.pop(call_id, None)

    async def authorize(self, question: PermissionQuestion) -> Refusal | None:
        """Decide by the policy and ask the user if the policy says so."""
        refusal = await self._authorize(question)
        tool = self._tool_of(question.call_id)
        # Before returning: the audit record must exist when the effect happens, even if the effect
        # then crashes or is cancelled.
        self.audit(AuditRecord(question.call_id, tool, question.effect, refusal))
        return refusal

    async def _authorize(self, question: PermissionQuestion) -> Refusal | None:
        decision = await self._decide(question)
        if not isinstance(decision, Ask):
            # Without this, calls that need no question would block the questions behind them.
            self._queue.leave(question.call_id)
            return _conclude(question, decision)
        # Decide again at the front: an "always" given to an earlier call may cover this one.
        async with self._queue.wait_for_turn(question.call_id):
            decision = await self._decide(question)
            if not isinstance(decision, Ask):
                return _conclude(question, decision)
            return await self._ask_user(question, decision)

    def list_rules(self) -> Sequence[ListedRule]:
        """Return the "always" answers that hold in this session, the saved ones first. Blocks."""
        saved = dict.fromkeys(_parts(self.store.load(self.root)))
        session = dict.fromkeys(each for each in _parts(self._session_rules) if each not in saved)
        return [
            ListedRule(rule, describe_scope(rule.scope, self.root), is_saved=rule in saved)
            for rule in (*saved, *session)
        ]

    def forget_rule(self, rule: PermissionRule) -> None:
        """Ask again about what a listed rule covers. Blocks.

        Raises:
            OSError: a saved rule cannot be removed.
        """
        self.store.remove(self.root, rule)
        self._session_rules = [each for each in _parts(self._session_rules) if each != rule]

    def list_project_rules(self) -> Sequence[ProjectUse]:
        """Return what settings files of the workspace allow, for the user to decide on. Blocks."""
        allowed = self.facts.claude_rules().allowed
        uses = [file.use for file in allowed if file.use is not None]
        self._listed_uses = frozenset(use.digest for use in uses)
        self.has_new_project_rules = False
        return uses

    def approve_project_rules(self, digests: Collection[str]) -> None:
        """Let the rules with these digests count from now on."""
        self._approved_uses |= frozenset(digests)

    def describe_project_rules(self) -> str:
        """Return the rules of settings files as Markdown; empty if there are none. Blocks."""
        return describe_rules(self.facts.claude_rules(), self._approved_uses)

    def search_excludes(self) -> Sequence[str]:
        """Return globs of secrets, settings and files that ignore files of the workspace name."""
        # Read the mode each time: the user may switch it during a turn.
        if self.mode() == "bypass":
            return ()
        return self.facts.search_excludes()

    async def forbid_tool(self, tool: str) -> Refusal | None:
        """Return why a settings file forbids every call of a tool."""
        found = await to_thread.run_sync(self.facts.claude_rules, abandon_on_cancel=True)
        refuse = forbid_tool(found.rules, tool)
        return None if refuse is None else Refusal(refuse.reason)

    async def can_preview(self, path: Path) -> bool:
        """Return whether a file is not protected."""
        return not await to_thread.run_sync(self.facts.is_protected, path, abandon_on_cancel=True)

    async def _decide(self, question: PermissionQuestion) -> Decision:
        tool = self._tool_of(question.call_id)
        # Only reads the disk, so the thread may be abandoned when the turn is cancelled.
        return await to_thread.run_sync(
            self._decide_blocking, question.effect, tool, abandon_on_cancel=True
        )

    def _tool_of(self, call_id: str) -> str:
        """Return the name of the tool that made this call; empty if no tool did."""
        tools = self._tools.get(call_id)
        return tools[-1] if tools else ""

    def _decide_blocking(self, effect: Effect, tool: str) -> Decision:
        # Load per decision: another session of this workspace may have saved a rule since.
        claude_rules = self.facts.claude_rules()
        allowed = claude_rules.allowed_by(self._approved_uses)
        if any(f.use and f.use.digest not in self._listed_uses for f in claude_rules.allowed):
            self.has_new_project_rules = True
        rules = RuleBook([*self._session_rules, *self.store.load(self.root), *allowed])
        facts = self.facts.collect(effect)
        decision = decide(facts, self.mode(), rules)
        decision = restrict(decision, claude_rules.rules, tool, facts, self.root)
        if self.run_rules is not None:
            decision = self.run_rules.apply(decision, tool, facts, self.root)
        # Check last: a symlink swapped while the facts were collected must not get through.
        return Refuse(MOVED) if self.facts.has_moved(effect) else decision

    async def _ask_user(self, question: PermissionQuestion, decision: Ask) -> Refusal | None:
        is_plan = isinstance(question.effect, LeavePlanMode)
        choices = self._choices_for(question.effect, decision)
        try:
            answer = await self.asker.ask(replace(question, reason=decision.reason), choices)
        except AskingError as error:
            return Refusal(NOT_ASKED.format(reason=error))
        if answer is None:
            return await self._cancel_turn(question)
        await self.note_answer(question.call_id, answer)
        # Security: a client can send any id, such as "allow_workspace" where no rule was offered.
        choice = next((each for each in choices if each.id == answer), None)
        if choice is None:
            return Refusal(NOT_ASKED.format(reason="the answer was none of those offered"))
        if answer not in _YES:
            if choice.scope is not None:
                await self._save_rule(answer, choice.scope)
            if self.run_rules is not None:
                return Refusal(UNATTENDED, decision.is_allowable)
            return Refusal(PLAN_REJECTED if is_plan else REJECTED)
        # Before the answer changes anything: the mode, because out of plan mode no plan can be
        # accepted, and the rules, because with them another question could be the next.
        refusal = await self._recheck(question, decision)
        if choice.scope is not None:
            await self._save_rule(answer, choice.scope)
        if refusal is None:
            self._apply_yes(answer, question, decision)
        return refusal

    def _choices_for(self, effect: Effect, decision: Ask) -> tuple[PermissionChoice, ...]:
        """Return the answers to offer."""
        if isinstance(effect, LeavePlanMode):
            return PLAN_CHOICES
        if isinstance(effect, RestoreFiles):
            return RESTORE_CHOICES
        return choices_for(decision, self.root)

    def _apply_yes(
        self, answer: PermissionChoiceId, question: PermissionQuestion, decision: Ask
    ) -> None:
        """Let an answer take effect beyond its question."""
        question.note_answer(answer)
        if answer in _MODES:
            self.switch_mode(_MODES[answer])
        if answer == "allow_confined" and decision.shield is not None:
            question.note_shield(decision.shield)
        if answer == "ask_per_host":
            self.ask_per_host()

    async def _cancel_turn(self, question: PermissionQuestion) -> Refusal:
        """End the turn: the user dismissed the question."""
        self.cancel_turn()
        if question.is_awaited:
            # The cancellation arrives later; returning now would give the model a result to act on.
            await anyio.sleep_forever()
        return Refusal(REJECTED)

    async def _recheck(
        self, question: PermissionQuestion, previous_decision: Ask
    ) -> Refusal | None:
        """Check an approval against the current state: mode, rules and links may have changed."""
        decision = await self._decide(question)
        if isinstance(decision, Ask):
            # A different question than the one answered: the user did not approve this effect.
            return None if decision == previous_decision else Refusal(CHANGED)
        return _conclude(question, decision)

    async def _save_rule(self, answer: PermissionChoiceId, scope: Scope) -> None:
        """Store an "always" answer; if it cannot be saved, it holds for this session."""
        rule = PermissionRule(scope, is_allowed=answer in _YES)
        # First, so that the answer holds for this session even if saving it fails.
        self._session_rules.append(rule)
        if answer in _SAVED:
            try:
                await to_thread.run_sync(self.store.add, self.root, rule, abandon_on_cancel=True)
            except OSError as error:
                logger.warning("could not save a rule; it holds for this session only: %s", error)


def _parts(rules: Sequence[PermissionRule]) -> list[PermissionRule]:
    """Return rules with one rule for each part of a scope."""
    return [
        PermissionRule(part, rule.is_allowed) for rule in rules for part in scope_parts(rule.scope)
    ]


_MODES: Mapping[PermissionChoiceId, Mode] = {
    "accept_and_ask": "ask",
    "accept_edits": "accept_edits",
}
_YES: frozenset[PermissionChoiceId] = frozenset(
    {
        *("allow_once", "allow_session", "allow_workspace", "allow_exactly", "allow_checks"),
        *("allow_confined", "ask_per_host", *_MODES),
    }
)
_SAVED: frozenset[PermissionChoiceId] = frozenset(
    {"allow_workspace", "allow_exactly", "allow_checks", "reject_workspace"}
)


def _conclude(question: PermissionQuestion, decision: Allow | Refuse) -> Refusal | None:
    match decision:
        case Allow(shield):
            if shield is not None:
                question.note_shield(shield)
            return None
        case Refuse():
            return Refusal(decision.reason, decision.can_be_allowed)
        case _:
            assert_never(decision)
