"""The complete server in memory, with a test editor, a fake Messages API and MCP servers.

    async with wired(tmp_path, ["Hello."]) as line:
        session = await line.open(program("s"))
        await line.say(session)
        assert "s__echo" in line.tools()

The editor answers permission requests with `answer`, and elicitations with `form_values`.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import cast

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.models.anthropic.packages import open_entry_point
from acp_server.session.ports.mcp_configs import (
    ClientServerConfig,
    HttpServerConfig,
    ServerConfig,
    StdioServerConfig,
)
from prompt_engine.cache_control import add_cache_breakpoints
from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor
from tests.support.messages_api import FakeApiServer, Script, messages_api
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

POLL_SECONDS = 0.01
COMMAND_POLL_SECONDS = 0.05
"""Interval between commands; shorter ones would slow down the processes under test."""
MODEL = "claude-opus-5-5"
LONG_START_SETTINGS = f"mcp: {{startup_wait_seconds: {HANG_TIMEOUT_SECONDS}}}\n"
"""Settings for tests that are not about waiting: prompts wait until all servers are ready."""
FORM_CAPABILITIES: JsonValue = {"elicitation": {"form": {}}}


def to_wire(server: ServerConfig) -> Object:
    """Return a server in the format of `session/new`."""
    match server:
        case StdioServerConfig():
            pairs = server.environment.items()
            env: list[JsonValue] = [{"name": name, "value": value} for name, value in pairs]
            args: list[JsonValue] = [*server.args]
            return {"name": server.name, "command": server.command, "args": args, "env": env}
        case HttpServerConfig():
            kind: JsonValue = server.transport
            return {"type": kind, "name": server.name, "url": server.url, "headers": []}
        case ClientServerConfig():
            return {"type": "acp", "name": server.name, "serverId": server.server_id}


@dataclass(slots=True)
class McpEditor:
    """Editor that answers the server's requests."""

    editor: Editor
    api: FakeApiServer
    directory: Path
    answer: str = "allow_once"
    refused_title: str = ""
    """The title of a call that is refused."""
    form_values: Mapping[str, JsonValue] | None = None
    questions: list[Object] = field(default_factory=list[Object])
    """Requests from the server, in order."""
    answer_server_request: Callable[[Object], None] | None = None
    """Answers `mcp/message`, for servers that the editor provides."""

    async def open(self, *servers: ServerConfig, cwd: Path | None = None) -> str:
        """Open a session with MCP servers and return its id."""
        named: list[JsonValue] = [to_wire(server) for server in servers]
        return await self.editor.new_session(cwd or self.directory, mcpServers=named)

    async def prompt(self, session: str, text: str = "go") -> JsonValue:
        """Send a prompt and return the stop reason."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            return json_at(await self.editor.prompt(session, text), "stopReason")

    async def run_command(self, session: str, command: str) -> str:
        """Send a slash command and return its output."""
        before = self.editor.agent_text(session)
        assert await self.prompt(session, command) == "end_turn"
        return self.editor.agent_text(session).removeprefix(before)

    async def run_command_until(self, session: str, command: str, words: str) -> str:
        """Repeat a command until its output contains a text, and return the output."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while True:
                if words in (output := await self.run_command(session, command)):
                    return output
                await anyio.sleep(COMMAND_POLL_SECONDS)  # other processes signal no event

    def tool_names(self, request: int = -1) -> list[str]:
        """Return the names of the tools in a model request."""
        tools = cast("list[JsonValue]", self.api.model_requests[request].body["tools"])
        return [str(json_at(tool, "name")) for tool in tools]

    def tool_results(self, request: int = -1) -> list[JsonValue]:
        """Return the contents of the tool results in the last message of a model request."""
        messages = cast("list[JsonValue]", self.api.model_requests[request].body["messages"])
        blocks = cast("list[JsonValue]", json_at(messages[-1], "content"))
        return [
            json_at(each, "content") for each in blocks if json_at(each, "type") == "tool_result"
        ]

    def prompt_text(self, request: int = -1) -> str:
        """Return the texts in the last message of a model request."""
        messages = cast("list[JsonValue]", self.api.model_requests[request].body["messages"])
        blocks = cast("list[JsonValue]", json_at(messages[-1], "content"))
        return "\n".join(
            str(json_at(each, "text")) for each in blocks if json_at(each, "type") == "text"
        )

    async def answer_requests(self) -> None:
        """Answer all requests from the server."""
        seen = 0
        while True:
            # polls, since `Editor.wait_until` times out and requests may be far apart
            await anyio.sleep(POLL_SECONDS)
            unseen, seen = self.editor.messages[seen:], len(self.editor.messages)
            for message in unseen:
                if message.get("method") == "mcp/message" and self.answer_server_request:
                    self.answer_server_request(message)
                elif "id" in message and "method" in message:
                    self.questions.append(message)
                    self.editor.reply(message, self._answer_to(message))

    def _answer_to(self, question: Object) -> JsonValue:
        if question["method"] == "session/request_permission":
            is_refused = json_at(question, "params", "toolCall", "title") == self.refused_title
            option = "reject_once" if is_refused else self.answer
            return {"outcome": {"outcome": "selected", "optionId": option}}
        if self.form_values is None:
            return {"action": "decline"}
        return {"action": "accept", "content": dict(self.form_values)}


@asynccontextmanager
async def open_mcp_editor(
    folder: Path,
    script: Script = (),
    *,
    settings: str = LONG_START_SETTINGS,
    options: Mapping[str, str] | None = None,
    capabilities: JsonValue = FORM_CAPABILITIES,
) -> AsyncGenerator[McpEditor]:
    """Start everything; `settings` is a config.yaml, `can` the client capabilities."""
    home, root = folder / "home", folder / "root"
    for each in (home, root):
        each.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(settings)
    # not in the event loop's thread, where the fast import cannot try what it has imported
    await to_thread.run_sync(_import_all)
    async with messages_api(script) as api:
        variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "test-key"}
        all_options = {"--model": MODEL, **(options or {})}
        engine = make_configuration(home, options=all_options, environment=variables)
        async with open_editor(engine) as editor:
            await editor.initialize(clientCapabilities=capabilities)
            line = McpEditor(editor, api, root)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(line.answer_requests)
                yield line
                tasks.cancel_scope.cancel()


@cache
def _import_all() -> None:
    """Import slow modules once, before any timeout runs."""
    open_entry_point(partial(add_cache_breakpoints, ttl="5m"))
    for name in ("acp_server.mcp.sdk_connector", "acp_server.tools.factory"):
        import_module(name)


def make_replies(count: int) -> Sequence[str]:
    """Return a script of `count` identical replies."""
    return ["Done."] * count
