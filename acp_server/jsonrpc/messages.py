"""The JSON-RPC 2.0 envelope: typed messages, and how each is encoded as one line.

Source: https://www.jsonrpc.org/specification, narrowed as ACP narrows it (no batches; ids are null,
64-bit integers or strings).
"""

import json
from functools import lru_cache
from typing import Protocol

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.surrogates import repair_surrogates

RequestId = int | str | None
MAX_REASON_CHARACTERS = 2_000
"""The longest text in an error's data, in characters."""
_METHOD_CACHE_SIZE = 64
"""Encoded method names to cache. Only names of this program are encoded."""
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_JSON_TYPES = (str, int, float, list, dict)


class Encodable(Protocol):
    """An object that encodes itself as JSON, such as a pydantic message model."""

    def to_json(self) -> bytes:
        """Return compact UTF-8 JSON without a newline."""
        ...


Payload = Encodable | JsonValue


@frozen_dataclass
class Request:
    """A call that must be answered once, under its `id`."""

    id: RequestId
    method: str
    params: JsonValue


@frozen_dataclass
class Notification:
    """A call that is never answered."""

    method: str
    params: JsonValue


@frozen_dataclass
class ErrorObject:
    """The error member of a response."""

    code: int
    message: str
    data: JsonValue = None


@frozen_dataclass
class Response:
    """The other side's response to a request of this side: a result or an error."""

    id: RequestId
    result: JsonValue = None
    error: ErrorObject | None = None


Message = Request | Notification | Response


def encode(payload: Payload) -> bytes:
    """Return a payload as one line of JSON: compact, valid UTF-8, no NaN, no newline."""
    # isinstance against JSON's own types, not a check for `to_json`: ten times as fast, and this
    # runs for every line sent.
    if payload is None or isinstance(payload, _JSON_TYPES):
        # A lone surrogate is valid in a Python string but has no UTF-8; replace it instead of
        # raising.
        return repair_surrogates(_JSON.encode(payload)).encode("utf-8")
    return payload.to_json()


@lru_cache(maxsize=_METHOD_CACHE_SIZE)
def _encode_method(name: str) -> bytes:
    return encode(name)


def request_line(request_id: RequestId, method: str, params: Payload) -> bytes:
    """Return the line of an outgoing request."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}\n' % (
        encode(request_id),
        _encode_method(method),
        encode(params),
    )


def notification_line(method: str, params: Payload) -> bytes:
    """Return the line of a notification."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}\n' % (_encode_method(method), encode(params))


def result_line(request_id: RequestId, result: Payload) -> bytes:
    """Return the line of a successful response."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (encode(request_id), encode(result))


def error_line(request_id: RequestId, error: ErrorObject) -> bytes:
    """Return the line of an error response; `message` is kept on one line.

    The message and strings in `data` are shortened, so an error that quotes a request is never
    larger than the request.
    """
    message = _shorten(" ".join(error.message.split()))
    body: dict[str, JsonValue] = {"code": error.code, "message": message}
    if isinstance(error.data, dict):
        body["data"] = {name: _shorten(value) for name, value in error.data.items()}
    elif error.data is not None:
        body["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encode(request_id), encode(body))


def _shorten(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or len(value) <= MAX_REASON_CHARACTERS:
        return value
    # Keep both ends: the cause of an error is often in its last words.
    half = MAX_REASON_CHARACTERS // 2
    return f"{value[:half]} … {value[-half:]}"
