"""The complete server in memory, with a test editor, a fake Messages API and MCP servers.

    async with wired(tmp_path, ["Hello."]) as line:
        session = await line.open(program("s"))
        await line.say(session)
        assert "s__echo" in line.tools()

The editor answers permission requests with `answer`, and elicitations with `form_values`.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import cast

import anyio
from pydantic import JsonValue

from acp_server.session.ports.mcp_configs import ProcessServer, RemoteServer, ServerConfig
from tests.support.editor import Editor, Object, at, configuration, open_editor
from tests.support.messages_api import MessagesApi, Script, messages_api
from tests.support.timeouts import PATIENCE_SECONDS

LOOK_SECONDS = 0.01
ASK_SECONDS = 0.05
"""Interval between commands; shorter ones would slow down the processes under test."""
MODEL = "claude-opus-5-5"
PATIENT = f"mcp: {{wait_seconds: {PATIENCE_SECONDS}}}\n"
"""Settings for tests that are not about waiting: prompts wait until all servers are ready."""
FORMS: JsonValue = {"elicitation": {"form": {}}}


def as_requested(server: ServerConfig) -> Object:
    """Return a server in the format of `session/new`."""
    match server:
        case ProcessServer():
            pairs = server.environment.items()
            env: list[JsonValue] = [{"name": name, "value": value} for name, value in pairs]
            args: list[JsonValue] = [*server.args]
            return {"name": server.name, "command": server.command, "args": args, "env": env}
        case RemoteServer():
            kind: JsonValue = server.transport
            return {"type": kind, "name": server.name, "url": server.url, "headers": []}


@dataclass(slots=True)
class Line:
    """Editor that answers the server's requests."""

    editor: Editor
    api: MessagesApi
    folder: Path
    answer: str = "allow_once"
    filled: Mapping[str, JsonValue] | None = None
    questions: list[Object] = field(default_factory=list[Object])
    """Requests from the server, in order."""

    async def open(self, *servers: ServerConfig, cwd: Path | None = None) -> str:
        """Open a session with MCP servers and return its id."""
        named: list[JsonValue] = [as_requested(server) for server in servers]
        return await self.editor.new_session(cwd or self.folder, mcpServers=named)

    async def say(self, session: str, text: str = "go") -> JsonValue:
        """Send a prompt and return the stop reason."""
        with anyio.fail_after(PATIENCE_SECONDS):
            return at(await self.editor.prompt(session, text), "stopReason")

    async def told(self, session: str, command: str) -> str:
        """Send a slash command and return its output."""
        before = self.editor.said(session)
        assert await self.say(session, command) == "end_turn"
        return self.editor.said(session).removeprefix(before)

    async def until(self, session: str, command: str, words: str) -> str:
        """Repeat a command until its output contains a text, and return the output."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while True:
                if words in (said := await self.told(session, command)):
                    return said
                await anyio.sleep(ASK_SECONDS)  # other processes signal no event

    def tools(self, request: int = -1) -> list[str]:
        """Return the names of the tools in a model request."""
        tools = cast("list[JsonValue]", self.api.asks[request].body["tools"])
        return [str(at(tool, "name")) for tool in tools]

    def results(self, request: int = -1) -> list[JsonValue]:
        """Return the contents of the tool results in the last message of a model request."""
        messages = cast("list[JsonValue]", self.api.asks[request].body["messages"])
        blocks = cast("list[JsonValue]", at(messages[-1], "content"))
        return [at(each, "content") for each in blocks if at(each, "type") == "tool_result"]

    def prompted(self, request: int = -1) -> str:
        """Return the texts in the last message of a model request."""
        messages = cast("list[JsonValue]", self.api.asks[request].body["messages"])
        blocks = cast("list[JsonValue]", at(messages[-1], "content"))
        return "\n".join(str(at(each, "text")) for each in blocks if at(each, "type") == "text")

    async def attend(self) -> None:
        """Answer all requests from the server."""
        seen = 0
        while True:
            # polls, since `Editor.wait_for` times out and requests may be far apart
            await anyio.sleep(LOOK_SECONDS)
            unseen, seen = self.editor.messages[seen:], len(self.editor.messages)
            for message in unseen:
                if "id" in message and "method" in message:
                    self.questions.append(message)
                    self.editor.reply(message, self._answer_to(message))

    def _answer_to(self, question: Object) -> JsonValue:
        if question["method"] == "session/request_permission":
            return {"outcome": {"outcome": "selected", "optionId": self.answer}}
        if self.filled is None:
            return {"action": "decline"}
        return {"action": "accept", "content": dict(self.filled)}


@asynccontextmanager
async def wired(
    folder: Path,
    script: Script = (),
    *,
    settings: str = PATIENT,
    options: Mapping[str, str] | None = None,
    can: JsonValue = FORMS,
) -> AsyncGenerator[Line]:
    """Start everything; `settings` is a config.yaml, `can` the client capabilities."""
    home, root = folder / "home", folder / "root"
    for each in (home, root):
        each.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(settings)
    _import_all()
    async with messages_api(script) as api:
        variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": "test-key"}
        given = {"--model": MODEL, **(options or {})}
        engine = configuration(home, options=given, environment=variables)
        async with open_editor(engine) as editor:
            await editor.initialize(clientCapabilities=can)
            line = Line(editor, api, root)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(line.attend)
                yield line
                tasks.cancel_scope.cancel()


@cache
def _import_all() -> None:
    """Import slow modules once, before any timeout runs."""
    for name in ("anthropic", "acp_server.mcp.sdk_connector", "acp_server.tools.factory"):
        import_module(name)


def answers(count: int) -> Sequence[str]:
    """Return a script of `count` identical replies."""
    return ["Done."] * count
