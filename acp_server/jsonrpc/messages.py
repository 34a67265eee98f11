"""The JSON-RPC 2.0 envelope, in and out: typed messages, and the bytes of one line each.

Source: https://www.jsonrpc.org/specification, narrowed as ACP narrows it (no batches, ids are
null, 64-bit integers or strings).
"""

import json
from functools import lru_cache
from typing import Protocol

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.surrogates import mended

RequestId = int | str | None
LONGEST_REASON = 2_000
"""Characters of a text in an error's data."""
_MOST_METHODS = 64
"""How many names of methods are kept as they are written: only ours are."""
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_JSON_TYPES = (str, int, float, list, dict)


class Encodable(Protocol):
    """Anything that knows its own JSON, such as a pydantic message model."""

    def to_json(self) -> bytes:
        """Return compact UTF-8 JSON without a newline."""
        ...


Payload = Encodable | JsonValue


@frozen
class Request:
    """A call that must be answered once, under its `id`."""

    id: RequestId
    method: str
    params: JsonValue


@frozen
class Notification:
    """A call that is never answered."""

    method: str
    params: JsonValue


@frozen
class ErrorObject:
    """The error half of a response."""

    code: int
    message: str
    data: JsonValue = None


@frozen
class Response:
    """The other side's answer to a request of ours: a result, or an error."""

    id: RequestId
    result: JsonValue = None
    error: ErrorObject | None = None


Message = Request | Notification | Response


def encode(payload: Payload) -> bytes:
    """Return one line's worth of JSON: compact, valid UTF-8, no NaN, no newline."""
    # Told by what JSON is made of: to look whether an object has a method takes ten times as long.
    if payload is None or isinstance(payload, _JSON_TYPES):
        return mended(_JSON.encode(payload)).encode("utf-8")
    return payload.to_json()


@lru_cache(maxsize=_MOST_METHODS)
def _method(name: str) -> bytes:
    return encode(name)


def request_line(request_id: RequestId, method: str, params: Payload) -> bytes:
    """Return the line of a request of ours."""
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}\n' % (
        encode(request_id),
        _method(method),
        encode(params),
    )


def notification_line(method: str, params: Payload) -> bytes:
    """Return the line of a notification."""
    return b'{"jsonrpc":"2.0","method":%b,"params":%b}\n' % (_method(method), encode(params))


def result_line(request_id: RequestId, result: Payload) -> bytes:
    """Return the line of a successful answer."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (encode(request_id), encode(result))


def error_line(request_id: RequestId, error: ErrorObject) -> bytes:
    """Return the line of an error answer; `message` stays on one line.

    Whatever of the request is quoted in it stays short: an error is never larger than its cause.
    """
    body: dict[str, JsonValue] = {"code": error.code, "message": " ".join(error.message.split())}
    if isinstance(error.data, dict):
        body["data"] = {name: _shortened(value) for name, value in error.data.items()}
    elif error.data is not None:
        body["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}\n' % (encode(request_id), encode(body))


def _shortened(value: JsonValue) -> JsonValue:
    if not isinstance(value, str) or len(value) <= LONGEST_REASON:
        return value
    half = LONGEST_REASON // 2
    return f"{value[:half]} … {value[-half:]}"
