"""Resources of servers: the tool that lists and reads them, and mentions of them in prompts.

Only the gate allows a request, and what comes back is data: it is scanned and limited as results
of tools are. The tool exists only in sessions with a server that has resources.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from uuid import uuid4

from anyio import to_thread
from pydantic import Field, JsonValue

from acp_server.mcp.permitted_calls import permitted_call
from acp_server.mcp.ports import Json, McpContext, ServerError
from acp_server.mcp.results import tool_outcome, with_injection_warning
from acp_server.mcp.server import Server, fetch_all_pages
from acp_server.mcp.server_configs import server_identity
from acp_server.mcp.tool_names import RESOURCE_TOOL
from acp_server.permissions.effects import CallMcpTool
from acp_server.permissions.questions import PermissionQuestion
from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.text.lines import to_single_line
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.errors import RefusedError, ToolError
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import READS
from acp_server.turn.conversation import Attachment, PromptPart, Text, UserPart
from acp_server.turn.ports import ToolOutcome, TurnSink

DESCRIPTION = "Read a resource of an MCP server, or list a server's resources."
PERMISSION_NAME = "resources"
"""The name of all these requests in permission rules, in place of a tool's."""
MAX_LISTED = 200
MAX_LINE_CHARACTERS = 300
MAX_MENTIONS = 10
_MENTION_END = re.compile(r"[\s<>\"'`]")
_MENTION_START = re.compile(r"[\s(\[{\"'`]")
_TRAILING_MARKS = ".,;:!?)]}"

FindServer = Callable[[str], Server | None]
"""Returns the server of a name, or without one the only server, if it has resources."""


class ResourceArguments(Arguments):
    """A resource, or the server whose resources are listed."""

    server: str = Field(default="", description="the server; not needed if only one has resources")
    uri: str = Field(default="", description="the resource; without it, all are listed")


class ResourceUse(TypedToolUse[ResourceArguments]):
    """One call of the tool."""

    usual_access = READS

    def __init__(self, find: FindServer, context: McpContext, reporter: CallReporter) -> None:
        super().__init__(ResourceArguments, reporter)
        self._find = find
        self._context = context

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the title, once the arguments are known."""
        server, uri = so_far.complete.get("server"), so_far.complete.get("uri")
        return CallDescription(_title(str(server or "MCP"), str(uri or "")))

    async def run(self, arguments: ResourceArguments) -> ToolOutcome:
        """List or read."""
        server = self._find(arguments.server)
        if server is None:
            raise ToolError(f"no MCP server {arguments.server!r} with resources is connected")
        question = _question(self.reporter.call_id, server, arguments.uri)
        await self.require_permission(self._context.gate, question)
        try:
            if arguments.uri:
                return await _read(server, arguments.uri, self._context, self.reporter.call_id)
            return ToolOutcome(await _list(server, self._context))
        except ServerError as error:
            return ToolOutcome(f"MCP server {server.name}: {error.reason}", is_error=True)


def resource_tool(find: FindServer, context: McpContext) -> Tool:
    """Return the tool, for the servers that `find` returns."""
    return Tool(
        build_spec(RESOURCE_TOOL, DESCRIPTION, ResourceArguments),
        "read",
        "MCP resource",
        lambda reporter: ResourceUse(find, context, reporter),
    )


async def read_mentions(
    parts: Sequence[UserPart], servers: Sequence[Server], context: McpContext, sink: TurnSink
) -> Sequence[PromptPart]:
    """Return what the `@server:uri` mentions in a prompt lead to, or why they could not be read."""
    found: dict[tuple[str, str], Server] = {}
    for part in parts:
        if isinstance(part, Text) and not part.is_remark:
            for server in servers:
                found |= {(server.name, uri): server for uri in _mentions(part.text, server.name)}
    read: list[PromptPart] = []
    for (_, uri), server in [*found.items()][:MAX_MENTIONS]:
        read += await _read_mention(server, uri, context, sink)
    return read


def _mentions(text: str, server: str) -> Iterator[str]:
    """Yield the URIs of a server that a text mentions."""
    mark = f"@{server}:"
    start = text.find(mark)
    while start >= 0:
        begin = start + len(mark)
        end = _MENTION_END.search(text, begin)
        uri = text[begin : end.start() if end else len(text)].rstrip(_TRAILING_MARKS)
        # Not inside of a word, such as an e-mail address.
        if uri and (start == 0 or _MENTION_START.match(text[start - 1])):
            yield uri
        start = text.find(mark, begin)


async def _read_mention(
    server: Server, uri: str, context: McpContext, sink: TurnSink
) -> Sequence[PromptPart]:
    """Read a mentioned resource, in a call of its own."""
    name = to_single_line(f"@{server.name}:{uri}", MAX_LINE_CHARACTERS)
    call_id = f"attach_{uuid4().hex[:12]}"
    question = _question(call_id, server, uri)
    try:
        async with permitted_call(sink, context.gate, RESOURCE_TOOL, question):
            outcome = await _read(server, uri, context, call_id)
            return (Attachment(name, outcome.text), *outcome.media)
    except RefusedError as error:
        return (Text(f"({name} was not read: {error.reason})"),)
    except ServerError as error:
        return (Text(f"({name} could not be read: {error.reason})"),)


async def _read(server: Server, uri: str, context: McpContext, call_id: str) -> ToolOutcome:
    """Read a resource.

    Raises:
        ServerError: The server cannot be reached, or has no such resource.
    """
    result = await server.request("resources/read", {"uri": uri})
    contents = server.redact.redact_result(result).get("contents")
    blocks: list[JsonValue] = [{"type": "resource", "resource": each} for each in as_list(contents)]
    content: Json = {"content": blocks}
    # In a thread: scanning a long text would block the event loop.
    return await to_thread.run_sync(
        tool_outcome, content, server.name, context.scan, context.outputs, call_id
    )


async def _list(server: Server, context: McpContext) -> str:
    """Return the resources of a server and its templates, a line each.

    Raises:
        ServerError: The server cannot be reached.
    """
    entries = await fetch_all_pages(server, "resources/list", "resources")
    try:
        templates = await fetch_all_pages(server, "resources/templates/list", "resourceTemplates")
    except ServerError as error:
        if not error.is_answer:
            raise
        templates = []
    lines = [server.redact(_line(as_object(each))) for each in (*entries, *templates)]
    more = [f"and {len(lines) - MAX_LISTED} more"] if len(lines) > MAX_LISTED else []
    text = "\n".join([*lines[:MAX_LISTED], *more]) or "it has no resources now"
    return await to_thread.run_sync(with_injection_warning, text, server.name, context.scan)


def _line(entry: Json) -> str:
    uri = as_text(entry.get("uri")) or as_text(entry.get("uriTemplate"))
    title = as_text(entry.get("title")) or as_text(entry.get("name"))
    facts = (title, as_text(entry.get("mimeType")), as_text(entry.get("description")))
    about = ", ".join(filter(None, facts))
    return to_single_line(f"{uri} ({about})" if about else uri, MAX_LINE_CHARACTERS)


def _question(call_id: str, server: Server, uri: str) -> PermissionQuestion:
    effect = CallMcpTool(
        server.name, server_identity(server.config), PERMISSION_NAME, read_only_hint=True
    )
    title = _title(server.name, uri)
    return PermissionQuestion(call_id, effect, title, "read", (Text(title),))


def _title(server: str, uri: str) -> str:
    return to_single_line(f"{server}: {uri or 'list resources'}", MAX_LINE_CHARACTERS)
