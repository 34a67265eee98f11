"""Real tools in a real server in memory, with an editor that validates every message.

    async with open_tool_editor(tmp_path) as session:
        (updates,) = await session.run(call("write_file", path="a.txt", content="hello"))
        assert updates.status == "completed"

The workspace is `session.root`; next to it are `session.outside` and the server's own directory.
`answers` maps methods to answers for the server's requests; a request without one stays open. All
updates and requests are validated against the published schema when the context exits.
"""

import json
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import cast

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.handlers.agent_connection import AgentConnection
from acp_server.handlers.client_connection import ClientConnection
from acp_server.jsonrpc.memory import MemoryTransport, create_memory_pair
from acp_server.mcp.config import McpConfig
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.permissions.modes import Mode
from acp_server.server.toolsets import ToolsetBuilder
from acp_server.session.registry import SessionRegistry
from acp_server.tools.tool_config import ToolConfig
from acp_server.tools.tool_settings import CheckConfig
from acp_server.turn.conversation import ToolCall, ToolResult
from acp_server.turn.ports import Toolbox
from tests.handlers.checked_editor import CheckedEditor, message_schema_errors
from tests.support.editor import Object, json_at
from tests.support.published_schema import definitions, schema_errors
from tests.support.server_parts import MODEL_ID, make_auth_handlers, make_services
from tests.tools.typing_model import TypingModel, stream_call

Answer = Callable[[Object], JsonValue]
"""Computes the result of a request from its params, or raises `EditorRefusedError`."""

FILES: JsonValue = {"fs": {"readTextFile": True, "writeTextFile": True}}


class EditorRefusedError(Exception):
    """The editor refuses a request."""


class AnsweringEditor(CheckedEditor):
    """Editor that answers the server's requests as the test says."""

    def __init__(
        self, transport: MemoryTransport, server_end: MemoryTransport, answers: Mapping[str, Answer]
    ) -> None:
        super().__init__(transport, server_end)
        self._answers = answers
        self._tasks: TaskGroup | None = None

    @property
    def requests(self) -> list[Object]:
        """Return all requests of the server, in order."""
        return [message for message in self.messages if _is_request(message)]

    def asked(self, method: str) -> list[Object]:
        """Return the params of all requests of one method."""
        found = [each for each in self.requests if each["method"] == method]
        return [cast("Object", each["params"]) for each in found]

    def schema_errors(self) -> list[str]:
        """Return the schema violations so far, those of requests included."""
        return [
            f"{fault} in {json.dumps(each)}"
            for each in self.messages
            for fault in self._schema_errors_of(each)
        ]

    def _schema_errors_of(self, message: Object) -> list[str]:
        if _is_request(message):
            if str(message["method"]).startswith("_"):  # no part of the published schema
                return []
            return schema_errors(_requests()[str(message["method"])], message["params"])
        if message.get("method") == "$/cancel_request":
            return schema_errors("CancelRequestNotification", message["params"])
        return message_schema_errors(message, self._methods)

    def _store(self, message: Object) -> None:
        super()._store(message)
        method = str(message.get("method"))
        answer = self._answers.get(method) if _is_request(message) else None
        if answer is None:
            return
        if method == "terminal/create" and self._tasks is not None:
            # A confined command may need the server before it ends, which has the same event loop.
            self._tasks.start_soon(self._answer_in_thread, message, answer)
            return
        try:
            self.reply(message, answer(cast("Object", message["params"])))
        except EditorRefusedError as error:
            self.record_blocked_call(message, -32603, str(error))

    async def read(self) -> None:
        async with anyio.create_task_group() as self._tasks:
            await super().read()

    async def _answer_in_thread(self, message: Object, answer: Answer) -> None:
        try:
            result = await to_thread.run_sync(answer, cast("Object", message["params"]))
        except EditorRefusedError as error:
            self.record_blocked_call(message, -32603, str(error))
        else:
            self.reply(message, result)


@dataclass(frozen=True, slots=True)
class CallUpdates:
    """Updates of one call, as the editor received them."""

    call_id: str
    updates: list[Object]
    result: ToolResult | None = field(default=None)
    """The result that the model received."""

    def last(self, key: str) -> JsonValue:
        """Return the last value of a key."""
        return next((each[key] for each in reversed(self.updates) if key in each), None)

    @property
    def status(self) -> JsonValue:
        return self.last("status")

    @property
    def statuses(self) -> list[JsonValue]:
        """All statuses in order."""
        return [each["status"] for each in self.updates if "status" in each]

    @property
    def title(self) -> str:
        return str(self.last("title"))

    @property
    def locations(self) -> JsonValue:
        return self.last("locations")

    @property
    def text(self) -> str:
        """Result text for the model."""
        assert self.result is not None
        return self.result.text

    @property
    def shown_text(self) -> str:
        """All text of the last content update."""
        blocks = cast("list[Object]", self.last("content") or [])
        return "\n".join(
            str(json_at(b, "content", "text")) for b in blocks if b["type"] == "content"
        )

    def diff_states(self) -> list[tuple[str, list[Object]]]:
        """Every state of the shown diff: the call's status at that time, and the blocks."""
        status, found = "", list[tuple[str, list[Object]]]()
        for each in self.updates:
            status = str(each.get("status", status))
            blocks = cast("list[Object]", each.get("content") or [])
            diffs = [block for block in blocks if block["type"] == "diff"]
            if diffs:
                found.append((status, diffs))
        return found

    def growing_diffs(self) -> list[list[Object]]:
        """States of the diff while the call was pending, without the final, exact one."""
        return [blocks for status, blocks in self.diff_states() if status == "pending"][:-1]

    def diff_bytes(self) -> int:
        """Total size of all states of the diff."""
        blocks = [block for _, diffs in self.diff_states() for block in diffs]
        texts = [str(block.get(key) or "") for block in blocks for key in ("oldText", "newText")]
        return sum(len(text.encode()) for text in texts)


@dataclass(slots=True)
class ToolEditorSession:
    """Running session."""

    editor: AnsweringEditor
    model: TypingModel
    session_id: str
    root: Path
    outside: Path
    registry: SessionRegistry

    async def toolbox(self) -> Toolbox:
        """Return the session's tools."""
        return await self.registry.find(self.session_id).tools.for_turn()

    async def run(self, *calls: ToolCall) -> list[CallUpdates]:
        """Make the model issue these calls together; return the updates of each."""
        self.model.rounds = [[action for tool_call in calls for action in stream_call(tool_call)]]
        answer = await self.editor.prompt(self.session_id, "go")
        assert json_at(answer, "stopReason") == "end_turn"
        return [self.updates_of(tool_call.id) for tool_call in calls]

    async def run_one(self, tool_call: ToolCall) -> CallUpdates:
        """Make the model issue one call."""
        return (await self.run(tool_call))[0]

    def updates_of(self, call_id: str) -> CallUpdates:
        """Return the updates of a call so far."""
        updates = cast("list[Object]", self.editor.updates_of(self.session_id))
        matching = [each for each in updates if each.get("toolCallId") == call_id]
        result = next((each for each in self.model.results if each.call_id == call_id), None)
        return CallUpdates(call_id, matching, result)

    def write_file(self, name: str, content: str | bytes) -> Path:
        """Write a workspace file directly, bypassing the tools."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def write_seen_file(self, name: str, content: str) -> Path:
        """Write a workspace file as the model saw it: it may replace the whole file."""
        path = self.write_file(name, content)
        self.mark_seen(path, content)
        return path

    def mark_seen(self, path: Path, content: str) -> None:
        """Let this be what the model saw of a file."""
        seen_files = self.registry.find(self.session_id).context.seen_files
        seen_files.note_written(str(path.resolve()), content)


@asynccontextmanager
async def open_tool_editor(  # noqa: PLR0913  what a test may set; all but the first by name
    folder: Path,
    *,
    mode: Mode = "bypass",
    capabilities: JsonValue = None,
    answers: Mapping[str, Answer] | None = None,
    checks: CheckConfig | None = None,
    client: str = "an editor",
    search_path: str = "/usr/bin:/bin",
) -> AsyncGenerator[ToolEditorSession]:
    """Open a session over its own directories; see the module docstring."""
    root, outside, own_home = (folder / name for name in ("workspace", "outside", "own"))
    for directory in (root, outside, own_home):
        directory.mkdir(exist_ok=True)
    model = TypingModel()
    server_end, editor_end = create_memory_pair()
    editor = AnsweringEditor(editor_end, server_end, answers or {})
    tool_config = ToolConfig(
        folder, own_home, {"PATH": search_path}, (), checks=checks or CheckConfig()
    )
    link = ClientConnection.from_transport(server_end)
    toolsets = ToolsetBuilder(
        link, tool_config, McpConfig(tool_config.environment, (), tool_config.config_home)
    )
    plain = make_services(FixedCatalog(MODEL_ID, MODEL_ID, lambda: model), mode=mode)
    registry = SessionRegistry(replace(plain, toolset=toolsets))
    connection = AgentConnection(link, registry, make_auth_handlers())
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(editor.serve, connection)
        tasks.start_soon(editor.read)
        about: JsonValue = {"name": client, "version": "1"}
        await editor.initialize(clientCapabilities=capabilities, clientInfo=about)
        session_id = await editor.new_session(root)
        yield ToolEditorSession(editor, model, session_id, root, outside, registry)
        await editor.disconnect()
    await toolsets.close()
    assert editor.schema_errors() == []


def allow(choice: str = "allow_once") -> Answer:
    """Return the answer of a user who always selects this option."""
    return lambda _: {"outcome": {"outcome": "selected", "optionId": choice}}


def lines(count: int, word: str = "a line of a file like any other") -> str:
    """Return a text of this many lines."""
    return "".join(f"{number}: {word}\n" for number in range(1, count + 1))


def _is_request(message: Object) -> bool:
    return "method" in message and "id" in message


@cache
def _requests() -> Mapping[str, str]:
    """Return the schema definitions of all requests to a client, by method."""
    return {
        str(schema["x-method"]): name
        for name, schema in definitions().items()
        if name.endswith("Request") and schema.get("x-side") == "client"
    }
