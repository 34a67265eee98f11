"""Sessions with real commands, and an editor that shows them in one of three ways.

    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        updates = await session.run_one(run("echo hello"))
        assert printed_output(updates) == "hello\\n"

`LIVE_OUTPUT` editors receive the output in pieces, `OWN_TERMINALS` ones run the command themselves
(answered by an `EditorShell`), the others (`PLAIN`) receive text. The sessions are those of
`editor_session`; the server's own environment contains a secret in all of them.
"""

import json
import signal
import subprocess
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import cast

import anyio
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.handlers.agent_connection import AgentConnection
from acp_server.handlers.client_connection import ClientConnection
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.mcp.config import McpConfig
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.permissions.modes import Mode
from acp_server.server.toolsets import ToolsetBuilder
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Session
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.tool_config import ToolConfig
from acp_server.turn.conversation import ToolCall, ToolResult, UserMessage
from tests.support.editor import Object, PendingResponse
from tests.support.server_parts import MODEL_ID, make_auth_handlers, make_services
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.editor_session import Answer, AnsweringEditor, CallUpdates, ToolEditorSession
from tests.tools.shell.command_session import wait_until
from tests.tools.typing_model import TypingModel, call, stream_call

LIVE_OUTPUT: JsonValue = {"_meta": {"terminal_output": True}}
TERMINALS: JsonValue = {"terminal": True}
PLAIN: JsonValue = {}
SECRET = "sk-ant-of-nobody-at-all"  # noqa: S105  not a real key
VARIABLES = {"PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": SECRET}
UPDATE_OVERHEAD_BYTES = 130
"""Size of the method and the session id around an update."""


@dataclass(slots=True)
class TerminalSession(ToolEditorSession):
    """Running session; `others` are more sessions of the same server and model."""

    others: list["TerminalSession"] = field(default_factory=list["TerminalSession"])

    def start(self, *calls: ToolCall) -> PendingResponse:
        """Make the model issue these calls together, without waiting for the end."""
        self.model.rounds.append(
            [action for tool_call in calls for action in stream_call(tool_call)]
        )
        return self.editor.start_prompt(self.session_id, "go")

    async def cancel(self, pending: PendingResponse) -> None:
        """Cancel a prompt, and wait until it is answered as cancelled.

        Commands under test take twice the timeout, so none of them ends by itself meanwhile.
        """
        self.editor.cancel(self.session_id)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS / 2):
            response = await pending.response()
        assert response["result"] == {"stopReason": "cancelled"}

    def pending_result(self, tool_call: ToolCall) -> str:
        """Return the notice about a call that the model gets with the next prompt."""
        messages = [m for m in self.session.context.conversation if isinstance(m, UserMessage)]
        results = [part for m in messages for part in m.parts if isinstance(part, ToolResult)]
        return next(each.text for each in results if each.call_id == tool_call.id)

    async def wait_until_shown(self, tool_call: ToolCall, text: str) -> None:
        """Wait until the editor has received this text as output of a call."""

        def shows(message: Object) -> bool:
            update = cast("Object", cast("Object", message.get("params", {})).get("update", {}))
            is_its = update.get("toolCallId") == tool_call.id
            return is_its and text in f"{update.get('_meta')} {update.get('content')}"

        await self.editor.wait_for_response(shows)

    async def wait_until_exists(self, name: str) -> None:
        """Wait until a command has created a file in the workspace."""
        await wait_until(self.root.joinpath(name).exists)

    def wire_bytes(self, updates: CallUpdates) -> int:
        """Return the size of a call's updates as compact JSON without escaped letters."""
        lines = (
            json.dumps(each, ensure_ascii=False, separators=(",", ":")) for each in updates.updates
        )
        return sum(len(line.encode()) + UPDATE_OVERHEAD_BYTES for line in lines)

    @property
    def session(self) -> Session:
        """The session object."""
        return self.registry.find(self.session_id)


@asynccontextmanager
async def open_terminal_sessions(
    folder: Path,
    capabilities: JsonValue,
    answers: Mapping[str, Answer] | None = None,
    *,
    mode: Mode = "bypass",
    sessions: int = 1,
    sandbox: SandboxConfig | None = None,
) -> AsyncGenerator[TerminalSession]:
    """Open sessions in one workspace; see the module docstring."""
    root, outside, own_home = (folder / name for name in ("workspace", "outside", "own"))
    for directory in (root, outside, own_home):
        directory.mkdir(exist_ok=True)
    model = TypingModel()
    server_end, editor_end = create_memory_pair()
    editor = AnsweringEditor(editor_end, server_end, answers or {})
    link = ClientConnection.from_transport(server_end)
    tool_config = ToolConfig(folder, own_home, VARIABLES, settings.secret_variables())
    tool_config = replace(tool_config, sandbox=sandbox or tool_config.sandbox)
    toolsets = ToolsetBuilder(link, tool_config, McpConfig(VARIABLES, (), tool_config.config_home))
    plain = make_services(FixedCatalog(MODEL_ID, MODEL_ID, lambda: model), mode=mode)
    registry = SessionRegistry(replace(plain, toolset=toolsets))
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(editor.serve, AgentConnection(link, registry, make_auth_handlers()))
            tasks.start_soon(editor.read)
            await editor.initialize(clientCapabilities=capabilities)
            ids = [await editor.new_session(root) for _ in range(sessions)]
            opened = [TerminalSession(editor, model, each, root, outside, registry) for each in ids]
            opened[0].others = opened[1:]
            yield opened[0]
            await editor.disconnect()
    except BaseExceptionGroup as group:  # a failed assertion is easier to read unwrapped
        raise _first(group) from None
    finally:
        # a cancelled test must still end its commands
        with anyio.CancelScope(shield=True):
            await toolsets.close()
    assert editor.schema_errors() == []


class EditorShell:
    """Runs the commands of editor terminals, each to its end before it answers."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.log: list[tuple[str, JsonValue]] = []
        """Called methods with their terminal id."""
        self._variables = variables
        self._ended: dict[str, tuple[int, str]] = {}

    @property
    def matches(self) -> Mapping[str, Answer]:
        """Answers by method."""
        return {
            "terminal/create": self._create,
            "terminal/wait_for_exit": self._wait,
            "terminal/output": self._output,
            "terminal/kill": partial(self._note, "kill"),
            "terminal/release": partial(self._note, "release"),
        }

    def methods(self) -> list[str]:
        return [method for method, _ in self.log]

    def _create(self, params: Object) -> JsonValue:
        terminal_id = f"editor_{len(self._ended) + 1}"
        self._ended[terminal_id] = 0, ""  # the next one, in another thread, gets another id
        added = cast("list[dict[str, str]]", params.get("env") or [])
        completed = subprocess.run(
            [str(params["command"]), *cast("list[str]", params["args"])],
            cwd=str(params["cwd"]),
            env={**self._variables, **{each["name"]: each["value"] for each in added}},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self._ended[terminal_id] = (completed.returncode, completed.stdout.decode())
        self._note("create", {"terminalId": terminal_id})
        return {"terminalId": terminal_id}

    def _wait(self, params: Object) -> JsonValue:
        self._note("wait_for_exit", params)
        return self._exit(params)

    def _output(self, params: Object) -> JsonValue:
        self._note("output", params)
        text = self._ended[str(params["terminalId"])][1]
        return {"output": text, "truncated": False, "exitStatus": self._exit(params)}

    def _exit(self, params: Object) -> JsonValue:
        code = self._ended[str(params["terminalId"])][0]
        return {"exitCode": code} if code >= 0 else {"signal": signal.Signals(-code).name}

    def _note(self, method: str, params: Object) -> JsonValue:
        self.log.append((method, params["terminalId"]))
        return {}


def run(command: str, **arguments: JsonValue) -> ToolCall:
    """Return a call of the terminal tool."""
    return call("terminal", command=command, **arguments)


def process(action: str, **arguments: JsonValue) -> ToolCall:
    """Return a call of the process tool."""
    return call("process", action=action, **arguments)


def meta_values(call_updates: CallUpdates, key: str) -> list[Object]:
    """Return the values under a `_meta` key in the call's updates, in order."""
    found = [cast("Object", each.get("_meta") or {}) for each in call_updates.updates]
    return [cast("Object", each[key]) for each in found if key in each]


def printed_output(updates: CallUpdates) -> str:
    """Return all output pieces that the editor received."""
    return "".join(str(each["data"]) for each in meta_values(updates, "terminal_output"))


def _first(error: BaseException) -> BaseException:
    exceptions = getattr(error, "exceptions", ())
    return _first(exceptions[0]) if exceptions else error
