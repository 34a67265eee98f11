"""In-memory ACP client for tests of the server's behaviour.

    async def test_a_greeting_is_streamed(tmp_path: Path) -> None:
        script = "prompt: *\\nsay: Hello there!"
        async with open_editor(configuration(tmp_path, script)) as editor:
            await editor.initialize()
            session_id = await editor.new_session()
            assert await editor.prompt(session_id, "hi") == {"stopReason": "end_turn"}
            assert editor.said(session_id) == "Hello there!"

`open_editor` takes a `Configuration` and builds the server as the command does, or takes a `Model`
and builds minimal services around it. `make_configuration` makes a configuration with a test home.
The server runs in a task group of the context; exiting the context ends the stream, as when an
editor closes stdin, and waits until the server has closed its own. Each message is checked on
arrival by `check_message`, each response also against the open requests; a violation fails the
test.

Requests, from the simplest to the most explicit:

    await editor.prompt(session_id, "hi")       the result; an error response fails the test
    await editor.call(method, params)           the complete response, result or error
    pending = editor.begin(method, params)      sent, not awaited: `pending.id`,
    await pending.response()                    `pending.is_answered`, the response
    editor.notify(method, params)
    editor.cancel(session_id)                   `session/cancel`
    editor.send({...}), editor.send_line(b"…")  anything, well-formed or not

Messages are sent immediately and in order; only responses are awaited.

Received data: `messages` (all, in order), `updates` (the params of every `session/update`),
`updates_of(session_id)` (the updates of one session), `agent_text(session_id)` (the text of its
messages). `session_info_update`s are collected separately in `session_infos`, since every first
prompt causes one. `await editor.wait_for(matches)` returns the first message, received or future,
that matches, requests from the server included; answer those with `reply` and `refuse`.
`json_at(value, "result", 0)` looks into JSON without casts.

`stop_reading` and `resume_reading` simulate a slow reader; `disconnect` ends the stream and waits
until the server has closed its own. No wait is longer than `HANG_TIMEOUT_SECONDS`.
"""

import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NoReturn, TypeAlias, TypeVar, cast

import anyio
from pydantic import JsonValue

from acp_server.config import settings
from acp_server.config.settings import Configuration
from acp_server.handlers.agent_connection import AgentConnection
from acp_server.handlers.client_connection import ClientConnection
from acp_server.jsonrpc.framing import MAX_MESSAGE_BYTES
from acp_server.jsonrpc.memory import MemoryTransport, create_memory_pair
from acp_server.jsonrpc.outbox import CAPACITY_BYTES
from acp_server.server.app import build_server
from acp_server.turn.ports import Model
from tests.support.server_parts import make_auth_handlers, make_registry
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

T = TypeVar("T")
Object: TypeAlias = dict[str, JsonValue]
MessageFilter: TypeAlias = Callable[[Object], bool]


def make_configuration(
    home: Path,
    script: str | None = None,
    *,
    options: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Configuration:
    """Return a configuration with HERMES_HOME at `home`, and with a scripted model if given."""
    values = dict(options or {})
    if script is not None:
        file = home / "test.script"
        file.write_text(script, encoding="utf-8")
        values["--model"] = f"scripted:{file}"
    return settings.load(values, {"HERMES_HOME": str(home), **(environment or {})})


@asynccontextmanager
async def open_editor(
    source: Configuration | Model,
    *,
    capacity_bytes: int = CAPACITY_BYTES,
    limit_bytes: int = MAX_MESSAGE_BYTES,
    is_file: bool = False,
    initialize_params: JsonValue = None,
) -> AsyncGenerator["Editor"]:
    """Start a server and connect to it; see the module docstring.

    `capacity_bytes` limits the server's unsent data, `limit_bytes` the length of a message.
    `is_file` makes the editor's stream end like a file. `initialize_params` are the params of an
    `initialize` that was answered earlier.
    """
    server_end, editor_end = create_memory_pair(
        capacity_bytes=capacity_bytes, limit_bytes=limit_bytes, is_file=is_file
    )
    editor = Editor(editor_end, server_end)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(editor.serve, _connect(source, server_end, initialize_params))
            tasks.start_soon(editor.read)
            yield editor
            await editor.disconnect()
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # a failed assertion reads better by itself
        raise _unwrap_single(group) from None


def _connect(
    engine: Configuration | Model, transport: MemoryTransport, initialize_params: JsonValue
) -> AgentConnection:
    if isinstance(engine, Configuration):
        return build_server(transport, engine, initialize_params)
    return AgentConnection(
        ClientConnection.from_transport(transport),
        make_registry(lambda: engine),
        make_auth_handlers(),
        initialize_params,
    )


def _unwrap_single(error: BaseException) -> BaseException:
    exceptions = getattr(error, "exceptions", ())
    return _unwrap_single(exceptions[0]) if len(exceptions) == 1 else error


class PendingResponse:
    """Response to a sent request, received or pending."""

    def __init__(self, editor: "Editor", number: int) -> None:
        self.id = number
        self._editor = editor

    @property
    def is_answered(self) -> bool:
        """Whether the response has been received."""
        return self.id in self._editor.to_responses_part

    async def response(self) -> Object:
        """Wait for the response and return it complete."""
        return await self._editor.wait_until(
            lambda: self._editor.to_responses_part.get(self.id), f"answer to request {self.id}"
        )


class Editor:
    """Client of one server, created by `open_editor`."""

    def __init__(self, transport: MemoryTransport, server_end: MemoryTransport) -> None:
        self.server_end = server_end
        """The server's transport, for its `has_capacity`."""
        self.messages: list[Object] = []
        """All messages received, in order, except `session_info_update`s."""
        self.session_infos: list[JsonValue] = []
        """The `session_info_update`s received, in order."""
        self.checkpoints: list[str] = []
        """The checkpoints of user messages and of responses to prompts, in order."""
        self.to_responses_part: dict[int, Object] = {}
        """Responses to requests with an integer id, as `start_request` assigns, by id."""
        self.server_closed = anyio.Event()
        """Set when the server has ended its stream."""
        self._transport = transport
        self._open_requests: Counter[tuple[str, object]] = Counter()
        self._next_id = 1
        self._received_more = anyio.Event()
        self._reading_allowed = anyio.Event()
        self._reading_allowed.set()

    # Requests, notifications and responses.

    async def initialize(self, **params: JsonValue) -> JsonValue:
        """Send `initialize`, with keywords merged into the params, and return the result."""
        return await self._call_ok("initialize", {"protocolVersion": 1, **params})

    async def new_session(self, cwd: Path | str = "/", **params: JsonValue) -> str:
        """Open a session and return its id."""
        fields: Object = {"cwd": str(cwd), "mcpServers": [], **params}
        return str(json_at(await self._call_ok("session/new", fields), "sessionId"))

    async def prompt(self, session_id: str, prompt: str | Sequence[JsonValue]) -> JsonValue:
        """Send a text or content blocks, and return the result when the turn has ended."""
        return await self._call_ok("session/prompt", prompt_params(session_id, prompt))

    def start_prompt(self, session_id: str, prompt: str | Sequence[JsonValue]) -> PendingResponse:
        """Send a text or content blocks without waiting for the response."""
        return self.start_request("session/prompt", prompt_params(session_id, prompt))

    def cancel(self, session_id: str) -> None:
        """Send `session/cancel`."""
        self.notify("session/cancel", {"sessionId": session_id})

    async def call(self, method: str, params: JsonValue = None) -> Object:
        """Send a request and return the complete response."""
        return await self.start_request(method, params).response()

    def start_request(self, method: str, params: JsonValue = None) -> PendingResponse:
        """Send a request without waiting for the response."""
        number = self._next_id
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return PendingResponse(self, number)

    def notify(self, method: str, params: JsonValue = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def reply(self, request: Object, result: JsonValue) -> None:
        """Answer a request from the server with a result."""
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def record_blocked_call(self, request: Object, code: int, message: str) -> None:
        """Answer a request from the server with an error."""
        error: Object = {"code": code, "message": message}
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def send(self, message: JsonValue) -> None:
        """Send any JSON value as one line."""
        self.send_line(json.dumps(message).encode())

    def send_line(self, line: bytes) -> None:
        """Send raw bytes and a newline."""
        self._open_requests[_request_key(line)] += 1
        self._transport.send(line + b"\n")

    def stop_reading(self) -> None:
        """Stop receiving, so that the server's output accumulates in the transport."""
        self._reading_allowed = anyio.Event()

    def resume_reading(self) -> None:
        """Receive again after `stop_reading`."""
        self._reading_allowed.set()

    async def disconnect(self) -> None:
        """End the stream and wait until the server has ended its own."""
        self._transport.end()
        self.resume_reading()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await self.server_closed.wait()

    # Received data.

    @property
    def updates(self) -> list[Object]:
        """The params of every `session/update`."""
        found = [each for each in self.messages if is_update(each)]
        return [cast("Object", each["params"]) for each in found]

    def updates_of(self, session_id: str) -> list[JsonValue]:
        """Return the `update` objects of one session."""
        return [each["update"] for each in self.updates if each["sessionId"] == session_id]

    def agent_text(self, session_id: str) -> str:
        """Return the text of all agent messages in a session."""
        updates = self.updates_of(session_id)
        chunks = [u for u in updates if json_at(u, "sessionUpdate") == "agent_message_chunk"]
        return "".join(str(json_at(chunk, "content", "text")) for chunk in chunks)

    async def wait_for_response(self, matches: MessageFilter) -> Object:
        """Return the first message, received or future, for which `matches` is true."""
        seen = 0

        def find() -> Object | None:
            nonlocal seen
            unseen, seen = self.messages[seen:], len(self.messages)
            return next((message for message in unseen if matches(message)), None)

        return await self.wait_until(find, "message that fits")

    async def wait_until(self, find: Callable[[], T | None], description: str) -> T:
        """Call `find` after every message until it returns a value; `what` names that in errors."""
        with anyio.move_on_after(HANG_TIMEOUT_SECONDS):
            while (found := find()) is None:
                if self.server_closed.is_set():
                    break
                await self._received_more.wait()
            else:
                return found
        reason = "the server has left" if self.server_closed.is_set() else "waited in vain"
        raise AssertionError(f"no {description}: {reason}; received last: {self.messages[-3:]}")

    # Tasks of `open_editor`.

    async def serve(self, connection: AgentConnection) -> None:
        """Run the server until it ends."""
        async with self.server_end:
            await connection.run()

    async def read(self) -> None:
        """Receive, check and store messages until the server ends its stream."""
        while True:
            await self._reading_allowed.wait()
            lines = await self._transport.receive()
            for line in lines:
                assert isinstance(line, bytes), "the server sent a message above the cap"
                self._store(check_message(line))
            if not lines:
                self.server_closed.set()
            # replace the event before setting it, so that a woken waiter waits for the next batch
            changed, self._received_more = self._received_more, anyio.Event()
            changed.set()
            if not lines:
                return

    def _store(self, message: Object) -> None:
        checkpoint = take_checkpoint(message)
        if checkpoint is not None:
            self.checkpoints.append(checkpoint)
        update = json_at(message, "params", "update") if is_update(message) else None
        if update is not None and json_at(update, "sessionUpdate") == "session_info_update":
            self.session_infos.append(update)
        else:
            self.messages.append(message)
        if "method" in message:
            return
        identifier = message["id"]
        key = (type(identifier).__name__, identifier)
        is_open = self._open_requests[key] > 0
        # a null id answers a message whose id could not be read; it belongs to no request
        assert is_open or identifier is None, f"an answer to nothing: {message}"
        self._open_requests[key] -= 1
        if isinstance(identifier, int):
            self.to_responses_part[identifier] = message

    async def _call_ok(self, method: str, params: JsonValue) -> JsonValue:
        response = await self.call(method, params)
        assert "result" in response, f"{method} failed: {response}"
        return response["result"]


def prompt_params(session_id: str, prompt: str | Sequence[JsonValue]) -> JsonValue:
    """Return the params of `session/prompt` for a text, or for content blocks."""
    blocks = [{"type": "text", "text": prompt}] if isinstance(prompt, str) else list(prompt)
    return {"sessionId": session_id, "prompt": cast("JsonValue", blocks)}


def take_checkpoint(message: Object) -> str | None:
    """Remove the checkpoint of a user message, or of the response to a prompt, and return it.

    It differs with each run, and tests compare whole messages.
    """
    result = message.get("result")
    if is_update(message):
        result = json_at(message, "params", "update")
        if json_at(result, "sessionUpdate") != "user_message_chunk":
            return None
    elif not isinstance(result, dict) or "stopReason" not in result:
        return None
    return pop_checkpoint(cast("Object", result))


def pop_checkpoint(named: Object) -> str | None:
    """Remove the checkpoint from the `_meta` of an update or a response, and return it."""
    details = cast("Object", cast("Object", named.get("_meta") or {}).get("hermes") or {})
    if "checkpoint" not in details:
        return None
    checkpoint = str(details.pop("checkpoint"))
    if not details:
        del named["_meta"]
    return checkpoint


def is_update(message: Object) -> bool:
    """Whether a message is a `session/update`."""
    return message.get("method") == "session/update"


def json_at(value: JsonValue, *path: str | int) -> JsonValue:
    """Return the JSON value at a path of keys and indices."""
    for step in path:
        match value, step:
            case dict(), str():
                value = value[step]
            case list(), int():
                value = value[step]
            case _:
                raise AssertionError(f"nothing can be at {step!r} in {value!r}")
    return value


def check_message(line: bytes) -> Object:
    """Parse a line from the server; fail unless it is a valid JSON-RPC message."""
    text = line.decode("utf-8")
    message: JsonValue = json.loads(text, parse_constant=_refuse_constant)
    assert isinstance(message, dict), text
    json.dumps(message, ensure_ascii=False).encode("utf-8")  # fails on half a surrogate pair
    assert message.get("jsonrpc") == "2.0", text
    keys = frozenset(message) - {"jsonrpc"}
    assert keys in _MESSAGE_KEY_SETS, f"no shape of a message: {text}"
    assert isinstance(message.get("method", ""), str), text
    assert type(message.get("id")) in {int, str, type(None)}, text
    assert isinstance(message.get("params", {}), dict), text
    if "error" in message:
        _check_error(message["error"])
    return message


_MESSAGE_KEY_SETS = [
    frozenset(keys.split())
    for keys in (
        "id method params",
        "id method",
        "method params",
        "method",
        "id result",
        "id error",
    )
]


def _check_error(error: JsonValue) -> None:
    assert isinstance(error, dict), error
    assert frozenset(error) <= {"code", "message", "data"}, error
    assert type(error["code"]) is int, error
    assert isinstance(error["message"], str), error
    assert error["message"], error
    assert len(error["message"].splitlines()) == 1, error


def _refuse_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not a JSON number")


def _request_key(line: bytes) -> tuple[str, object]:
    """Return the key of the response to a line: the type and the value of its id.

    The type is part of the key because 1, 1.0 and True are equal in Python. Without a usable id
    the server answers with a null id.
    """
    try:
        message: object = json.loads(line)
    except (ValueError, RecursionError):
        return ("NoneType", None)
    if not isinstance(message, dict) or "method" not in message:
        return ("NoneType", None)
    identifier = cast("dict[str, object]", message).get("id")
    if isinstance(
        identifier, str
    ):  # the server replaces lone surrogates, which UTF-8 cannot encode
        identifier = identifier.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return (type(identifier).__name__, identifier if isinstance(identifier, str | int) else None)
