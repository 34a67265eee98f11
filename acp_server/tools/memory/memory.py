"""The tool `memory`: facts that outlast the session.

A change is planned and shown before permission is asked; afterwards exactly this change is applied,
or none. Results are JSON.
"""

import json
from functools import partial

from anyio import to_thread
from pydantic import Field

from acp_server.memory.operations import EntryOperation, OperationAction
from acp_server.memory.provider import MemoryWrite, MirrorWrite, ignore_write
from acp_server.memory.results import MemoryResult
from acp_server.memory.store import MemoryStores
from acp_server.permissions.effects import ChangeMemory
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.commands.markdown import fenced_block
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.shortening import headline
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import ToolOutcome
from prompt_engine.memory_entries import StoreName, join_entries

DESCRIPTION = (
    "Save facts for later sessions. If the user corrects you or states a preference, save it at "
    "once. Give action, or operations for several changes at once."
)
MAX_TITLE_CHARACTERS = 80
KIND: CallKind = "edit"


class MemoryOperation(Arguments):
    """One of several changes. The class name is part of the schema the model sees."""

    action: OperationAction = Field(description="same")
    content: str | None = Field(default=None, description="same")
    old_text: str | None = Field(default=None, description="same")

    def to_operation(self) -> EntryOperation:
        """Convert to an operation of the memory store."""
        return EntryOperation(self.action, self.content or "", self.old_text or "")


class MemoryArguments(Arguments):
    """One change, or several changes of the same store."""

    action: OperationAction | None = Field(default=None, description="the change")
    target: StoreName = Field(
        default="memory",
        description="memory: environment, conventions, quirks (default); user: about the user",
    )
    content: str | None = Field(default=None, description="add, replace: the new entry")
    old_text: str | None = Field(
        default=None, description="replace, remove: words that only the old entry has"
    )
    operations: list[MemoryOperation] | None = Field(
        default=None, description="changes made together"
    )

    def to_operations(self) -> tuple[EntryOperation, ...]:
        """Return the operations; if `operations` is given, the other fields are ignored."""
        if self.operations:
            return tuple(each.to_operation() for each in self.operations)
        if self.action is None:
            return ()
        return (EntryOperation(self.action, self.content or "", self.old_text or ""),)


class MemoryUse(TypedToolUse[MemoryArguments]):
    """One call of `memory`."""

    def __init__(
        self,
        memory: MemoryStores,
        gate: Gate,
        mirror: MirrorWrite,
        reporter: CallReporter,
        *,
        needs_permission: bool,
    ) -> None:
        super().__init__(MemoryArguments, reporter)
        self._memory = memory
        self._gate = gate
        self._mirror = mirror
        self._needs_permission = needs_permission

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the text to remember or forget as the title, as far as it was received."""
        operations = so_far.complete.get("operations")
        if isinstance(operations, list) and len(operations) > 1:
            return CallDescription(f"Update the memory: {len(operations)} changes")
        is_removal = so_far.complete.get("action") == "remove"
        text = so_far.text("old_text" if is_removal else "content")
        return CallDescription(_title(text, is_removal=is_removal)) if text else None

    async def run(self, arguments: MemoryArguments) -> ToolOutcome:
        """Plan the change, ask permission, apply it."""
        operations = arguments.to_operations()
        change = await to_thread.run_sync(self._memory.plan, arguments.target, operations)
        if isinstance(change, MemoryResult):  # no change was planned; it says why
            return _outcome(change)
        lines = [
            f"{sign} {line}"
            for sign, entries in (("-", change.removed), ("+", change.added))
            if entries
            for line in join_entries(entries).split("\n")
        ]
        content = (Text(fenced_block("\n".join(lines), "diff")),)
        entries = change.added or change.removed
        if len(entries) > 1 or len(change.removed) > 1:
            counts = f"{len(change.removed)} removed, {len(change.added)} added"
            title = f"Update the memory: {counts}"
        else:
            title = _title("".join(entries), is_removal=not change.added)
        await self.reporter.describe(title, ())
        await self.reporter.show(content)
        effect = ChangeMemory(self._needs_permission)
        question = PermissionQuestion(self.reporter.call_id, effect, title, KIND, content)
        refusal = await self._gate.authorize(question)
        if refusal is not None:
            record_failure = partial(self._memory.failure_result, arguments.target, refusal.reason)
            return _outcome(await to_thread.run_sync(record_failure), content)
        await self.reporter.mark_in_progress()
        # `shown`: nothing is written if the change would no longer be the one the user agreed to.
        apply_change = partial(self._memory.apply, arguments.target, operations, shown=change)
        result = await to_thread.run_sync(apply_change)
        if result.is_success:
            self._mirror(MemoryWrite(arguments.target, change.added, change.removed))
        return _outcome(result, content)


def _title(text: str, *, is_removal: bool) -> str:
    return f"{'Forget' if is_removal else 'Remember'}: {headline(text, MAX_TITLE_CHARACTERS)}"


def _outcome(result: MemoryResult, change: tuple[Text, ...] = ()) -> ToolOutcome:
    """Return the JSON result for the model; the user sees the change and a sentence instead."""
    usage = f" ({result.contents.usage} characters)" if result.contents is not None else ""
    return ToolOutcome(
        json.dumps(result.as_json(), ensure_ascii=False),
        is_error=not result.is_success,
        shown=(*change, Text(f"{result.text}{usage}")),
    )


def memory_tool(
    memory: MemoryStores,
    gate: Gate,
    mirror: MirrorWrite = ignore_write,
    *,
    needs_permission: bool = False,
) -> Tool:
    """Return the tool for a session; at least one store must be enabled."""
    spec = build_spec("memory", DESCRIPTION, MemoryArguments)
    use = partial(MemoryUse, memory, gate, mirror, needs_permission=needs_permission)
    return Tool(spec, KIND, "Memory", use)
