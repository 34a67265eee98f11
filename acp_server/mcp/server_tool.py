"""Adapter from a server's tool to a `Tool`: permission, call, progress and result."""

import json
from collections.abc import Mapping
from contextlib import nullcontext
from functools import partial

from anyio import to_thread
from pydantic import JsonValue

from acp_server.mcp.features import OfferedTool
from acp_server.mcp.json_values import line_of, shortened
from acp_server.mcp.ports import Changing, Json, ServerError
from acp_server.mcp.results import Suspect, outcome_of
from acp_server.mcp.server import Server
from acp_server.mcp.server_configs import identity_of
from acp_server.permissions.effects import CallServer
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import Question
from acp_server.session.commands.markdown import block
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.arguments import SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import AnyUse, Tool
from acp_server.turn.conversation import Text
from acp_server.turn.ports import Outcome, ToolSpec

MOST_SHOWN_CHARACTERS = 20_000
MOST_PROGRESS_LINES = 20
MOST_PROGRESS_CHARACTERS = 300


@frozen
class Counter:
    """Dependencies of the calls of servers' tools, for a session or one of its sub-agents."""

    gate: Gate
    suspect: Suspect
    changing: Changing = nullcontext


class ServerUse(AnyUse):
    """One call of a server's tool."""

    def __init__(self, server: Server, tool: OfferedTool, counter: Counter, report: Report) -> None:
        self._server = server
        self._tool = tool
        self._counter = counter
        self._report = report
        self._told: list[str] = []

    async def draft(self, so_far: SoFar) -> None:
        """Do nothing: only the server can interpret partial arguments."""

    async def begin(self, values: Mapping[str, JsonValue]) -> Outcome:
        """Ask for permission, call the tool and return its outcome."""
        await self._report.accept(values)
        shown = Text(_block(values))
        await self._report.show((shown,))
        refusal = await self._counter.gate.pass_through(self._question(shown))
        if refusal is not None:
            return Outcome(refusal.reason, is_error=True)
        await self._report.begin()
        changing = nullcontext if self._tool.claims.reads_only else self._counter.changing
        try:
            async with changing():
                result = await self._called(values)
        except ServerError as error:
            return Outcome(f"MCP server {self._server.name}: {error.reason}", is_error=True)
        # In a thread: scanning a long result would block the event loop.
        return await to_thread.run_sync(self._outcome, result)

    async def _called(self, values: Mapping[str, JsonValue]) -> Json:
        parameters: dict[str, JsonValue] = {"name": self._tool.name, "arguments": dict(values)}
        return await self._server.request("tools/call", parameters, self._progress)

    def _outcome(self, result: Json) -> Outcome:
        hidden = self._server.redacted.result(result)
        return outcome_of(hidden, self._server.name, self._counter.suspect)

    def cut_short(self, reason: str) -> Outcome:
        """Return the outcome of an interrupted call, with the progress messages so far."""
        told = "\n".join(self._told)
        return Outcome(f"{reason}\nThe server had told:\n{told}" if told else reason, is_error=True)

    def _question(self, shown: Text) -> Question:
        server, tool = self._server, self._tool
        effect = CallServer(
            server.name,
            identity_of(server.config),
            tool.name,
            tool.claims.reads_only,
            tool.claims.destroys,
        )
        return Question(self._report.call_id, effect, title_of(server, tool), "other", (shown,))

    async def _progress(self, progress: float, total: float | None, message: str | None) -> None:
        share = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        text = self._server.redacted(message or "")
        line = line_of(f"{share}: {text}" if text else share, MOST_PROGRESS_CHARACTERS)
        self._told = [*self._told, line][-MOST_PROGRESS_LINES:]
        self._report.show_passing((Text("\n".join(self._told)),))


@frozen
class ServerTool:
    """A server's tool with the specification that the model sees."""

    server: Server
    offered: OfferedTool
    spec: ToolSpec

    def over(self, counter: Counter) -> Tool:
        """Return the tool as a `Tool` that is called in a context."""
        use = partial(ServerUse, self.server, self.offered, counter)
        return Tool(self.spec, "other", title_of(self.server, self.offered), use)


def server_tool(server: Server, offered: OfferedTool, name: str) -> ServerTool:
    """Return a server's tool; `name` is its name for the model."""
    description = offered.description or offered.title
    return ServerTool(server, offered, ToolSpec(name, description, offered.schema))


def title_of(server: Server, tool: OfferedTool) -> str:
    """Return the title of a call, prefixed with the server: the title is the server's own claim."""
    return f"{line_of(server.name, MOST_PROGRESS_CHARACTERS)}: {tool.title}"


def _block(values: Mapping[str, JsonValue]) -> str:
    text = json.dumps(dict(values), ensure_ascii=False, indent=2)
    return block(shortened(text, MOST_SHOWN_CHARACTERS), "json")
