"""An editor that holds everything the server sends against the published schema.

    async with open_checked_editor(model) as editor:      a Model of the test's for every session
    async with open_checked_editor(registry) as editor:   or a registry that the test looks into

The check is made when the editor leaves: every update, result and error must be valid, and must
have no key that the schema does not name.
"""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import cast

import anyio
from anyio import lowlevel
from pydantic import JsonValue

from acp_server.handlers.auth import AuthHandlers
from acp_server.handlers.connection import Connection
from acp_server.handlers.link import Link
from acp_server.jsonrpc.memory import MemoryTransport, memory_pair
from acp_server.jsonrpc.outbox import CAPACITY_BYTES
from acp_server.models.scripted import ScriptedModel
from acp_server.session.ports import ModelCatalog
from acp_server.session.registry import SessionRegistry
from acp_server.turn.ports import Model
from tests.handlers.expected import with_short_ids
from tests.support.editor import Editor, Object, at
from tests.support.engine import registry_of, way_in
from tests.support.patience import PATIENCE_SECONDS
from tests.support.published_schema import definitions, faults, shapes

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
    """An editor that remembers what it asked."""

    def __init__(self, transport: MemoryTransport, server_end: MemoryTransport) -> None:
        super().__init__(transport, server_end)
        self._methods: dict[str, str] = {}

    def send_line(self, line: bytes) -> None:
        """Send any bytes, and a newline."""
        method, number = _request(line)
        if method is not None:
            self._methods[number] = method
        super().send_line(line)

    async def wait_until_full(self) -> None:
        """Wait until the server has as much unsent as it may have."""
        with anyio.fail_after(PATIENCE_SECONDS):
            while self.server_end.has_room:
                await lowlevel.checkpoint()

    def faults(self) -> list[str]:
        """What is wrong with the messages received so far."""
        return [
            f"{fault} in {json.dumps(message)}"
            for message in self.messages
            for fault in message_faults(message, self._methods)
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
    """Start a server and connect to it, with `initialize` done; see this module.

    `catalog` is the registry's, if it can change; `auth` knows no key unless it is given.
    """
    sessions = engine if isinstance(engine, SessionRegistry) else registry_of(lambda: engine)
    server_end, editor_end = memory_pair(capacity_bytes=capacity_bytes)
    editor = CheckedEditor(editor_end, server_end)
    connection = Connection(Link.over(server_end), sessions, auth or way_in())
    if catalog is not None:
        catalog.on_change(connection.tell_options)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(editor.serve, connection)
        tasks.start_soon(editor.read)
        if initialized:
            await editor.initialize(clientCapabilities=capabilities)
        yield editor
        await editor.leave()
    assert editor.faults() == []


def scripted(folder: Path, script: str = SCRIPT) -> SessionRegistry:
    """A registry whose sessions play this script."""
    file = folder / "handlers.script"
    file.write_text(script, encoding="utf-8")
    return registry_of(lambda: ScriptedModel(str(file)))


def message_faults(message: Object, methods: Mapping[str, str]) -> list[str]:
    """What is wrong with a message, when these were the methods of the requests, by their ids."""
    if "method" in message:
        if message["method"] != "session/update":
            return [f"{message['method']!r} is nothing that this server may send"]
        return [
            *_all_faults("SessionNotification", at(message, "params")),
            *_all_faults("SessionUpdate", at(message, "params", "update")),
        ]
    if "error" in message:
        return _all_faults("Error", message["error"])
    return _all_faults(_responses()[methods[json.dumps(message["id"])]], message["result"])


def _all_faults(definition: str, value: JsonValue) -> list[str]:
    return _faults_of_text(definition, json.dumps(with_short_ids(value)))


@cache
def _faults_of_text(definition: str, text: str) -> list[str]:
    """What is wrong with a value that was written as JSON: most are sent many times."""
    value: Object = json.loads(text)
    keys = frozenset(value)
    known = any(keys <= frozenset(shape.properties) for shape in shapes(definitions()[definition]))
    return faults(definition, value) + ([] if known else [f"{definition} has no such keys"])


@cache
def _responses() -> Mapping[str, str]:
    """The definitions of all results of an agent's, by method."""
    return {
        str(schema["x-method"]): name
        for name, schema in definitions().items()
        if name.endswith("Response") and schema.get("x-side") == "agent"
    }


def _request(line: bytes) -> tuple[str | None, str]:
    """The method and the id, as JSON, of a request; no method for anything else."""
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return None, ""
    if not isinstance(message, dict) or not {"method", "id"} <= message.keys():
        return None, ""
    request = cast("Object", message)
    return str(request["method"]), json.dumps(request["id"])
