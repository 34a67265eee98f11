"""Adapter from a server's tool to a `Tool`: permission, call, progress and result."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial

from anyio import to_thread
from pydantic import JsonValue

from acp_server.mcp.features import McpTool
from acp_server.mcp.ports import McpContext, ServerError
from acp_server.mcp.results import tool_outcome
from acp_server.mcp.server import Server
from acp_server.mcp.server_configs import server_identity
from acp_server.permissions.effects import CallMcpTool
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.commands.markdown import fenced_block
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.lines import shorten, to_single_line
from acp_server.tools.arguments import PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.tool import Tool, ToolUse
from acp_server.turn.call_access import CHANGES, READS, CallAccess
from acp_server.turn.conversation import Text
from acp_server.turn.ports import ToolOutcome, ToolSpec

MAX_SHOWN_CHARACTERS = 20_000
MAX_PROGRESS_LINES = 20
MAX_PROGRESS_CHARACTERS = 300


class ServerUse(ToolUse):
    """One call of a server's tool."""

    def __init__(
        self, server: Server, tool: McpTool, context: McpContext, report: CallReporter
    ) -> None:
        self._server = server
        self._tool = tool
        self._context = context
        self._report = report
        self._progress_lines: list[str] = []

    def access_of_values(self, values: Mapping[str, JsonValue]) -> CallAccess:
        """Return that it only reads if the server declares so: it alone knows what it does."""
        del values
        return READS if self._tool.annotations.is_read_only else CHANGES

    async def draft(self, so_far: PartialArguments) -> None:
        """Do nothing: only the server can interpret partial arguments."""

    async def run_call(self, values: Mapping[str, JsonValue]) -> ToolOutcome:
        """Ask for permission, call the tool and return its outcome."""
        await self._report.show_arguments(values)
        values_json = json.dumps(dict(values), ensure_ascii=False, indent=2)
        arguments_text = Text(fenced_block(shorten(values_json, MAX_SHOWN_CHARACTERS), "json"))
        await self._report.show((arguments_text,))
        refusal = await self._context.gate.authorize(self._question(arguments_text))
        if refusal is not None:
            return ToolOutcome(refusal.reason, is_error=True)
        await self._report.mark_in_progress()
        changing = (
            nullcontext
            if self._tool.annotations.is_read_only
            else self._context.tracking_file_changes
        )
        try:
            async with changing():
                with self._server.sampling_during(self._report, self._context.gate):
                    result = await self._server.request(
                        "tools/call",
                        {"name": self._tool.name, "arguments": dict(values)},
                        self._on_progress,
                    )
        except ServerError as error:
            return ToolOutcome(f"MCP server {self._server.name}: {error.reason}", is_error=True)
        # In a thread: scanning a long result would block the event loop.
        return await to_thread.run_sync(
            lambda: tool_outcome(
                self._server.redact.redact_result(result),
                self._server.name,
                self._context.scan,
                self._context.outputs,
                self._report.call_id,
            )
        )

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome of an interrupted call, with the progress messages so far."""
        progress = "\n".join(self._progress_lines)
        return ToolOutcome(
            f"{reason}\nThe server had told:\n{progress}" if progress else reason, is_error=True
        )

    def _question(self, arguments_text: Text) -> PermissionQuestion:
        server, tool = self._server, self._tool
        effect = CallMcpTool(
            server.name,
            server_identity(server.config),
            tool.name,
            tool.annotations.is_read_only,
            tool.annotations.is_destructive,
        )
        return PermissionQuestion(
            self._report.call_id, effect, call_title(server, tool), "other", (arguments_text,)
        )

    async def _on_progress(self, progress: float, total: float | None, message: str | None) -> None:
        progress_text = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        text = self._server.redact(message or "")
        line = to_single_line(
            f"{progress_text}: {text}" if text else progress_text, MAX_PROGRESS_CHARACTERS
        )
        self._progress_lines = [*self._progress_lines, line][-MAX_PROGRESS_LINES:]
        self._report.show_transient((Text("\n".join(self._progress_lines)),))


@frozen_dataclass
class ServerTool:
    """A server's tool with the specification that the model sees."""

    server: Server
    definition: McpTool
    spec: ToolSpec

    def bind(self, context: McpContext) -> Tool:
        """Return the tool as a `Tool` that is called in a context."""
        use = partial(ServerUse, self.server, self.definition, context)
        return Tool(self.spec, "other", call_title(self.server, self.definition), use)


def call_title(server: Server, tool: McpTool) -> str:
    """Return the title of a call, prefixed with the server: the title is the server's own claim."""
    return f"{to_single_line(server.name, MAX_PROGRESS_CHARACTERS)}: {tool.title}"
