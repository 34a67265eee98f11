"""The tool `memory`: facts that outlast the session.

A change is planned and shown before permission is asked; afterwards exactly this change is applied,
or none. Results are JSON.
"""

import json
from collections.abc import Sequence
from functools import partial
from typing import assert_never

from anyio import to_thread
from pydantic import BaseModel, ConfigDict

from acp_server.memory.operations import Action, Change, Operation
from acp_server.memory.results import Answer
from acp_server.memory.store import Memory
from acp_server.permissions.effects import ChangeMemory
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import Question
from acp_server.session.commands.markdown import block
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import Outcome
from prompt_engine.memory_entries import StoreName, joined

DESCRIPTION = (
    "Keep facts for later sessions. user: who the user is, what they like. memory: environment, "
    "conventions, quirks. Save at once when the user corrects you or tells a preference. Not for "
    "methods (skills), secrets or the state of a task. old_text: words that only the entry meant "
    "contains. operations: many changes at once, also to make room."
)
MOST_TITLE_CHARACTERS = 80
KIND: CallKind = "edit"


class MemoryOperation(BaseModel):
    """One of several changes. The class name is part of the schema the model sees."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True)

    action: Action
    content: str | None = None
    old_text: str | None = None

    def operation(self) -> Operation:
        """Convert to an operation of the memory store."""
        return Operation(self.action, self.content or "", self.old_text or "")


class MemoryArguments(Arguments):
    """One change, or several changes of the same store."""

    action: Action | None = None
    target: StoreName = "memory"
    content: str | None = None
    old_text: str | None = None
    operations: list[MemoryOperation] | None = None

    def all(self) -> tuple[Operation, ...]:
        """Return the operations; if `operations` is given, the other fields are ignored."""
        if self.operations:
            return tuple(each.operation() for each in self.operations)
        if self.action is None:
            return ()
        return (Operation(self.action, self.content or "", self.old_text or ""),)


class MemoryUse(Use[MemoryArguments]):
    """One call of `memory`."""

    def __init__(self, memory: Memory, gate: Gate, report: Report, *, asks_first: bool) -> None:
        super().__init__(MemoryArguments, report)
        self._memory = memory
        self._gate = gate
        self._asks_first = asks_first

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the text to remember or forget as the title, as far as it was received."""
        operations = so_far.complete.get("operations")
        if isinstance(operations, list) and len(operations) > 1:
            return Description(f"Update the memory: {len(operations)} changes")
        is_removal = so_far.complete.get("action") == "remove"
        text = so_far.text("old_text" if is_removal else "content")
        return Description(_title(text, is_removal=is_removal)) if text else None

    async def run(self, arguments: MemoryArguments) -> Outcome:
        """Plan the change, ask permission, apply it."""
        operations = arguments.all()
        planned = await to_thread.run_sync(self._memory.plan, arguments.target, operations)
        match planned:
            case Answer():
                return _outcome(planned)
            case Change():
                return await self._carry_out(arguments, operations, planned)
            case _:
                assert_never(planned)

    async def _carry_out(
        self, arguments: MemoryArguments, operations: Sequence[Operation], change: Change
    ) -> Outcome:
        content = (Text(_shown(change)),)
        title = _title_of(change)
        await self.report.describe(title, ())
        await self.report.show(content)
        effect = ChangeMemory(self._asks_first)
        question = Question(self.report.call_id, effect, title, KIND, content)
        refusal = await self._gate.pass_through(question)
        if refusal is not None:
            failure = partial(self._memory.failure, arguments.target, refusal.reason)
            return _outcome(await to_thread.run_sync(failure), content)
        await self.report.begin()
        # `shown`: nothing is written if the change would no longer be the one the user agreed to.
        apply = partial(self._memory.apply, arguments.target, operations, shown=change)
        return _outcome(await to_thread.run_sync(apply), content)


def _title_of(change: Change) -> str:
    """Return the title of a planned change."""
    entries = change.added or change.removed
    if len(entries) > 1 or len(change.removed) > 1:
        return f"Update the memory: {len(change.removed)} removed, {len(change.added)} added"
    return _title("".join(entries), is_removal=not change.added)


def _title(text: str, *, is_removal: bool) -> str:
    first, *others = text.strip().splitlines() or [""]
    is_cut = bool(others) or len(first) > MOST_TITLE_CHARACTERS
    shown = f"{first[:MOST_TITLE_CHARACTERS]}{' …' if is_cut else ''}"
    return f"{'Forget' if is_removal else 'Remember'}: {shown}"


def _shown(change: Change) -> str:
    """Return the removed and added entries, as in the file, as a diff in Markdown."""
    lines = [
        f"{sign} {line}"
        for sign, entries in (("-", change.removed), ("+", change.added))
        if entries
        for line in joined(entries).split("\n")
    ]
    return block("\n".join(lines), "diff")


def _outcome(answer: Answer, change: tuple[Text, ...] = ()) -> Outcome:
    """Return the JSON result for the model; the user sees the change and a sentence instead."""
    usage = f" ({answer.contents.usage} characters)" if answer.contents is not None else ""
    return Outcome(
        json.dumps(answer.as_json(), ensure_ascii=False),
        is_error=not answer.is_success,
        shown=(*change, Text(f"{answer.text}{usage}")),
    )


def memory_tool(memory: Memory, gate: Gate, *, asks_first: bool = False) -> Tool:
    """Return the tool for a session; at least one store must be enabled."""
    spec = spec_of("memory", DESCRIPTION, MemoryArguments)
    use = partial(MemoryUse, memory, gate, asks_first=asks_first)
    return Tool(spec, KIND, "Memory", use)
