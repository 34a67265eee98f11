"""Malformed messages: a valid one per method, with values replaced, removed or added.

Also derives, from the message alone, the response that the server must send.
"""

import copy
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from hypothesis import strategies as st
from pydantic import JsonValue

from tests.support.editor import Object

SESSION = "the session's id"
"""Placeholder for the id of an open session; see `encode_for_session`."""

_TEXT: JsonValue = {
    "type": "text",
    "text": "hi",
    "annotations": {"audience": ["user"], "lastModified": "2026-01-01", "priority": 0.5},
    "_meta": {"k": [1]},
}
_LINK: JsonValue = {
    "type": "resource_link",
    "name": "a",
    "uri": "https://example.org/a",
    "title": "A",
    "mimeType": "text/plain",
    "size": 5,
}
_STDIO: JsonValue = {
    "name": "s",
    "command": "/c",
    "args": ["-x"],
    "env": [{"name": "a", "value": "b"}],
}
_HTTP: JsonValue = {
    "type": "http",
    "name": "s",
    "url": "http://localhost",
    "headers": [{"name": "a", "value": "b"}],
}  # fmt: skip
_CAPABILITIES: JsonValue = {
    "fs": {"readTextFile": True, "writeTextFile": True},
    "terminal": True,
    "session": {"notices": {}, "compaction": {}, "configOptions": {"boolean": {}}},
    "auth": {"terminal": True},
    "elicitation": {"form": {}, "url": {}},
    "_meta": {"terminal_output": True},
}

PARAMS: Mapping[str, Object] = {
    "initialize": {
        "protocolVersion": 1,
        "clientCapabilities": _CAPABILITIES,
        "clientInfo": {"name": "test", "title": "Test", "version": "1"},
    },
    "session/new": {
        "cwd": "/",
        "mcpServers": [_STDIO, _HTTP],
        "additionalDirectories": ["/"],
        "_meta": {},
    },
    "session/prompt": {"sessionId": SESSION, "prompt": [_TEXT, _LINK]},
    "session/set_mode": {"sessionId": SESSION, "modeId": "plan"},
    "session/set_config_option": {"sessionId": SESSION, "configId": "mode", "value": "plan"},
    "session/close": {"sessionId": SESSION},
    "authenticate": {"methodId": "api-key", "_meta": {}},
    "logout": {"_meta": {}},
    "session/cancel": {"sessionId": SESSION},
    "$/cancel_request": {"requestId": "hostile"},
}
NOTIFICATIONS = {"session/cancel", "$/cancel_request"}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8)
    | st.sampled_from(["\ud800", "a\udfffb", "\0", "/", "/help", "-1", "mode", SESSION, 1e400]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
member_names = st.sampled_from(
    ["id", "method", "params", "result", "error", "jsonrpc", "type", "_meta"]
)

JsonLocation: TypeAlias = tuple[JsonValue, str | int]


@dataclass(frozen=True)
class ExpectedResponse:
    """Required response to a message: one with this `id`, or none."""

    is_answered: bool
    id: JsonValue = None


def make_valid_message(method: str) -> Object:
    """Return a valid message of a method."""
    message: Object = {"jsonrpc": "2.0", "method": method, "params": copy.deepcopy(PARAMS[method])}
    return message if method in NOTIFICATIONS else {"id": "hostile", **message}


@st.composite
def mutated_messages(draw: st.DrawFn, method: str) -> JsonValue:
    """Draw a message of a method with up to three mutations."""
    message = make_valid_message(method)
    for _ in range(draw(st.integers(1, 3))):
        locations = list(_locations(message))
        if locations:
            _mutate(draw, *draw(st.sampled_from(locations)))
    return message


def _locations(value: JsonValue) -> Iterator[JsonLocation]:
    """Yield every location in a value, at any depth: the container and the key or index."""
    inner = value.items() if isinstance(value, dict) else enumerate(cast("list[JsonValue]", value))
    for key, each in inner:
        yield value, key
        if isinstance(each, dict | list):
            yield from _locations(each)


def _mutate(draw: st.DrawFn, container: JsonValue, key: str | int) -> None:
    """Replace, remove or add a value at a location."""
    action = draw(st.sampled_from(["replace", "remove", "add"]))
    if isinstance(container, dict) and isinstance(key, str):
        if action == "remove":
            del container[key]
        else:
            name = key if action == "replace" else draw(member_names | st.text(max_size=4))
            container[name] = draw(json_values)
    elif isinstance(container, list) and isinstance(key, int):
        if action == "remove":
            del container[key]
        elif action == "replace":
            container[key] = draw(json_values)
        else:
            container.insert(key, draw(json_values))


messages: st.SearchStrategy[JsonValue] = st.one_of(
    [mutated_messages(method) for method in PARAMS]
    + [cast("st.SearchStrategy[JsonValue]", json_values)]
)


def encode_for_session(message: JsonValue, session_id: str) -> bytes:
    """Encode a message as a line, with the placeholder replaced by a session id."""
    line = json.dumps(message).replace(json.dumps(SESSION), json.dumps(session_id))
    return line.replace("Infinity", "1e400").encode()


def expected_response(line: bytes) -> ExpectedResponse:
    """Return the required response to a line of JSON, by the rules of JSON-RPC and ACP."""
    message: JsonValue = json.loads(line)
    if not isinstance(message, dict):
        return ExpectedResponse(is_answered=True)
    identifier = message.get("id")
    if "method" not in message:
        return ExpectedResponse(is_answered=not message.keys() & {"id", "result", "error"})
    if "id" not in message:
        is_good = message.get("jsonrpc") == "2.0" and isinstance(message["method"], str)
        return ExpectedResponse(is_answered=not is_good)
    return ExpectedResponse(
        is_answered=True, id=replace_lone_surrogates(identifier) if _is_id(identifier) else None
    )


def replace_lone_surrogates(identifier: JsonValue) -> JsonValue:
    """Replace lone surrogates in an id, which UTF-8 cannot encode."""
    if not isinstance(identifier, str):
        return identifier
    return identifier.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _is_id(value: JsonValue) -> bool:
    if isinstance(value, int) and not isinstance(value, bool):
        return -(2**63) <= value < 2**63
    return value is None or isinstance(value, str)
