"""The tools of the external memory provider: permission, call and result."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from acp_server.memory.provider import MemoryTool
from acp_server.permissions.effects import ChangeMemory
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.commands.markdown import fenced_block
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.shortening import one_line
from acp_server.tools.tool import Tool, ToolUse
from acp_server.turn.call_access import CHANGES, READS, CallAccess
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import ToolOutcome, ToolSpec

MAX_TITLE_CHARACTERS = 80
MAX_SHOWN_CHARACTERS = 4_000


class ProviderToolUse(ToolUse):
    """One call of a provider's tool."""

    def __init__(
        self,
        memory: ExternalMemorySession,
        tool: MemoryTool,
        gate: Gate,
        reporter: CallReporter,
        *,
        needs_permission: bool,
    ) -> None:
        self._memory = memory
        self._tool = tool
        self._gate = gate
        self._reporter = reporter
        self._needs_permission = needs_permission

    def access_of_values(self, values: Mapping[str, JsonValue]) -> CallAccess:
        """Return that it only reads if the provider says so."""
        del values
        return READS if self._tool.is_read_only else CHANGES

    async def draft(self, so_far: PartialArguments) -> None:
        """Do nothing: only the provider can interpret partial arguments."""

    async def run_call(self, values: Mapping[str, JsonValue]) -> ToolOutcome:
        """Ask for permission if it changes the memory, call the tool, return its result."""
        await self._reporter.show_arguments(values)
        title = _title(self._tool, values)
        await self._reporter.describe(title, ())
        if not self._tool.is_read_only:
            arguments = json.dumps(dict(values), ensure_ascii=False, indent=2)
            shown = (Text(fenced_block(arguments[:MAX_SHOWN_CHARACTERS], "json")),)
            await self._reporter.show(shown)
            effect, kind = ChangeMemory(self._needs_permission), _kind(self._tool)
            question = PermissionQuestion(self._reporter.call_id, effect, title, kind, shown)
            refusal = await self._gate.authorize(question)
            if refusal is not None:
                return ToolOutcome(refusal.reason, is_error=True)
        await self._reporter.mark_in_progress()
        reply = await self._memory.call_tool(self._tool, values)
        if reply.notice:
            return ToolOutcome(reply.notice, is_error=True)
        return ToolOutcome(reply.text or "(no result)")


@frozen_dataclass
class ProviderTools:
    """The tools of a session's provider, behind the session's gate."""

    memory: ExternalMemorySession
    gate: Gate
    taken_names: Collection[str]
    """Names of tools that a provider cannot replace."""
    needs_permission: bool = False

    def tools(self) -> Sequence[Tool]:
        """Return the tools; they change only when the system prompt is written again."""
        return [
            Tool(
                ToolSpec(tool.name, tool.description, dict(tool.parameters)),
                _kind(tool),
                _title(tool, {}),
                partial(self._use, tool),
                returns_data=True,
            )
            for tool in self.memory.tools
            if tool.name not in self.taken_names
        ]

    def _use(self, tool: MemoryTool, reporter: CallReporter) -> ProviderToolUse:
        return ProviderToolUse(
            self.memory, tool, self.gate, reporter, needs_permission=self.needs_permission
        )


def _kind(tool: MemoryTool) -> CallKind:
    return "search" if tool.is_read_only else "edit"


def _title(tool: MemoryTool, values: Mapping[str, JsonValue]) -> str:
    """Return the tool's name and its first text argument, such as `fact_search: tabs or spaces`."""
    text = next((each for each in values.values() if isinstance(each, str)), "")
    return one_line(f"{tool.name}: {text}" if text else tool.name, MAX_TITLE_CHARACTERS)
