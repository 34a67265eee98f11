"""Editor that validates everything the server sends against the published schema.

    async with open_checked_editor(model) as editor:      a Model for every session
    async with open_checked_editor(registry) as editor:   or a registry that the test inspects

Messages are validated when the context exits: every update, result and error must be valid and may
have only keys that the schema declares.
"""

import json
from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import cast

import anyio
from anyio import lowlevel
from pydantic import JsonValue

from acp_server.handlers.agent_connection import AgentConnection
from acp_server.handlers.auth import AuthHandlers
from acp_server.handlers.client_connection import ClientConnection
from acp_server.jsonrpc.memory import MemoryTransport, create_memory_pair
from acp_server.jsonrpc.outbox import CAPACITY_BYTES
from acp_server.models.scripted import ScriptedModel
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.registry import SessionRegistry
from acp_server.turn.ports import Model
from tests.handlers.expected import IDENTIFIER
from tests.support.editor import Editor, Object, json_at
from tests.support.published_schema import definitions, schema_errors, shapes
from tests.support.server_parts import make_auth_handlers, make_registry
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SCRIPT = """\
prompt: wait
say: Working
pause: 60s

prompt: think
think: Hmm.
say: Hello there.

prompt: break
say: So far
fail: the endpoint is down

prompt: *
say: Hello.
"""


class CheckedEditor(Editor):
    """Editor that remembers its requests, to validate their results."""

    def __init__(self, transport: MemoryTransport, server_end: MemoryTransport) -> None:
        super().__init__(transport, server_end)
        self._methods: dict[str, str] = {}

    def send_line(self, line: bytes) -> None:
        """Send raw bytes and a newline, recording the method of a request."""
        method, number = _parse_request(line)
        if method is not None:
            self._methods[number] = method
        super().send_line(line)

    async def wait_until_full(self) -> None:
        """Wait until the server's output buffer is full."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while self.server_end.has_capacity:
                await lowlevel.checkpoint()

    def schema_errors(self) -> list[str]:
        """Return the schema violations of the messages received so far."""
        return [
            f"{fault} in {json.dumps(message)}"
            for message in self.messages
            for fault in message_schema_errors(message, self._methods)
        ]


@asynccontextmanager
async def open_checked_editor(
    engine: Model | SessionRegistry,
    *,
    auth: AuthHandlers | None = None,
    catalog: ModelCatalog | None = None,
    capacity_bytes: int = CAPACITY_BYTES,
    capabilities: JsonValue = None,
    initialized: bool = True,
) -> AsyncGenerator[CheckedEditor]:
    """Start a server and connect to it, by default initialized; see the module docstring.

    Pass `catalog`, the registry's, if its models can change. Without `auth` no key is stored.
    """
    sessions = engine if isinstance(engine, SessionRegistry) else make_registry(lambda: engine)
    server_end, editor_end = create_memory_pair(capacity_bytes=capacity_bytes)
    editor = CheckedEditor(editor_end, server_end)
    connection = AgentConnection(
        ClientConnection.from_transport(server_end), sessions, auth or make_auth_handlers()
    )
    if catalog is not None:
        catalog.on_change(connection.send_options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(editor.serve, connection)
        tasks.start_soon(editor.read)
        if initialized:
            await editor.initialize(clientCapabilities=capabilities)
        yield editor
        await editor.disconnect()
    assert editor.schema_errors() == []


def make_scripted_registry(directory: Path, script: str = SCRIPT) -> SessionRegistry:
    """Return a registry whose sessions play this script."""
    file = directory / "handlers.script"
    file.write_text(script, encoding="utf-8")
    return make_registry(lambda: ScriptedModel(str(file)))


def message_schema_errors(message: Object, methods: Mapping[str, str]) -> list[str]:
    """Return the schema violations of a message; `methods` are the sent requests' methods by id."""
    if "method" in message:
        if message["method"] != "session/update":
            return [f"{message['method']!r} is nothing that this server may send"]
        return [
            *_schema_errors("SessionNotification", json_at(message, "params")),
            *_schema_errors("SessionUpdate", json_at(message, "params", "update")),
        ]
    if "error" in message:
        return _schema_errors("Error", message["error"])
    method = methods[json.dumps(message["id"])]
    if method.startswith("_hermes/"):  # our own, which the published schema does not have
        return []
    return _schema_errors(_response_definitions()[method], message["result"])


def _schema_errors(definition: str, value: JsonValue) -> list[str]:
    # All ids of a kind become one, so that values which differ by them alone are checked once.
    return _cached_schema_errors(definition, IDENTIFIER.sub(r"\1_1", json.dumps(value)))


@cache
def _cached_schema_errors(definition: str, text: str) -> list[str]:
    """Return the violations of a JSON text; cached, since most values are sent many times."""
    value: Object = json.loads(text)
    keys = frozenset(value)
    known = any(keys <= allowed for allowed in _allowed_keys(definition))
    return schema_errors(definition, value) + ([] if known else [f"{definition} has no such keys"])


@cache
def _allowed_keys(definition: str) -> Collection[frozenset[str]]:
    """Return the keys of each kind of object that a definition allows."""
    return {frozenset(shape.properties) for shape in shapes(definitions()[definition])}


@cache
def _response_definitions() -> Mapping[str, str]:
    """Return the definition names of all agent responses, by method."""
    return {
        str(schema["x-method"]): name
        for name, schema in definitions().items()
        if name.endswith("Response") and schema.get("x-side") == "agent"
    }


def _parse_request(line: bytes) -> tuple[str | None, str]:
    """Return the method and the id, as JSON, of a request; the method is None otherwise."""
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None, ""
    if not isinstance(message, dict) or not {"method", "id"} <= message.keys():
        return None, ""
    request = cast("Object", message)
    return str(request["method"]), json.dumps(request["id"])
