"""Parses one line of bytes into a message, or raises a `MalformedError` with the answer to send.

Raises nothing else, whatever the line contains.
"""

import json
import math
import re
from collections.abc import Callable
from functools import partial
from typing import NoReturn, TypeGuard, assert_never, cast

from pydantic import JsonValue

from acp_server.jsonrpc.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, MalformedError
from acp_server.jsonrpc.messages import ErrorObject, Message, Notification, Request, RequestId
from acp_server.jsonrpc.messages import Response as ResponseMessage
from acp_server.text.surrogates import repair_surrogates

# A cheap test before the costly repair: only an escape can bring a lone surrogate into decoded
# JSON.
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
# Only top-level members: no `{` or `[` may come before the id, or an id inside params would be
# answered. The closing `[,}]` proves that the id was not cut off.
_LEADING_ID = re.compile(rb'\A\s*\{[^{\[]*?"id"\s*:\s*(-?\d{1,19}|"(?:[^"\\]|\\.){0,512}")\s*[,}]')
_LEADING_RESPONSE = re.compile(rb'\A\s*\{[^{\[]*?"(?:result|error)"\s*:')
_INT64 = range(-(2**63), 2**63)
_ABSENT = object()
MAX_QUOTED_DIGITS = 40
"""Digits of a number that are quoted in an error."""


def parse_message(line: bytes) -> Message | None:
    """Return the message on a line; None for one that must not be answered.

    None stands for response-shaped objects that match nothing (answering them would let two peers
    answer each other's errors forever) and for notifications that cannot be used.

    Raises:
        MalformedError: the line must be answered with an error.
    """
    # Collected while decoding and judged afterwards: the right answer depends on the kind of
    # message, which is known only once all of it is decoded.
    overflowed: list[str] = []
    value = _decode(line, partial(_parse_float, overflowed))
    if not isinstance(value, dict):
        raise MalformedError(
            INVALID_REQUEST, "Invalid Request", f"expected an object, not {_describe_type(value)}"
        )
    message = _parse_response(value) if "method" not in value else _parse_call(value)
    return _reject_overflow(message, overflowed[0]) if overflowed else message


def find_leading_id(head: bytes) -> RequestId:
    """Return the id at the start of a line too long to parse, if it is visible."""
    found = _LEADING_ID.match(head)
    if found is None:
        return None
    try:
        value: JsonValue = json.loads(found.group(1))
    except ValueError:
        return None
    return value if is_request_id(value) else None


def starts_as_response(head: bytes) -> bool:
    """Whether a line too long to parse starts like a response."""
    return _LEADING_RESPONSE.match(head) is not None


def is_request_id(value: object) -> TypeGuard[RequestId]:
    """Whether a JSON value is a valid request id; true and 1.0 are not."""
    # bool is an int in Python, and `True == 1`: it would match request 1.
    if isinstance(value, bool):
        return False
    return value is None or isinstance(value, str) or (isinstance(value, int) and value in _INT64)


def _decode(line: bytes, read_fraction: Callable[[str], float]) -> JsonValue:
    try:
        # -sig: some Windows clients begin their stream with a byte order mark.
        text = line.decode("utf-8-sig")
        value: JsonValue = json.loads(
            text, parse_constant=_refuse_constant, parse_float=read_fraction
        )
        if _SURROGATE_ESCAPE.search(line):
            # Valid JSON, but not encodable as UTF-8: without this the value would fail when written
            # to a file, a database or the wire.
            return json.loads(repair_surrogates(json.dumps(value, ensure_ascii=False)))
        return value
    # json recurses once for each nesting level, so a line of brackets must not end the read loop.
    except RecursionError:
        raise MalformedError(PARSE_ERROR, "Parse error", "nested too deeply") from None
    except ValueError as error:
        raise MalformedError(PARSE_ERROR, "Parse error", f"not JSON: {error}") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _parse_float(overflowed: list[str], digits: str) -> float:
    """Parse a float and collect it if it overflows: valid JSON that could not be written again."""
    number = float(digits)
    if math.isinf(number):
        overflowed.append(digits[:MAX_QUOTED_DIGITS])
    return number


def _reject_overflow(message: Message | None, digits: str) -> Message | None:
    """Return the outcome for a message with such a number: no call, or a failed response.

    Raises:
        MalformedError: the message is a request.
    """
    reason = f"the number {digits} is too large"
    match message:
        case Request(id=identifier):
            raise MalformedError(INVALID_PARAMS, "Invalid params", reason, identifier)
        case ResponseMessage(id=identifier):
            return ResponseMessage(identifier, error=ErrorObject(0, reason))
        case Notification() | None:
            return None
        case _:
            assert_never(message)


def _parse_call(value: dict[str, JsonValue]) -> Message:
    identifier: object = value.get("id", _ABSENT)
    known = identifier if is_request_id(identifier) else None
    method, params = value["method"], value.get("params")
    # The id is checked first: every later error is answered under it, and `null` is an id in ACP,
    # so "absent" needs its own sentinel.
    if identifier is not _ABSENT and not is_request_id(identifier):
        reason = "id must be null, a 64-bit integer or a string"
        raise MalformedError(INVALID_REQUEST, "Invalid Request", reason)
    if value.get("jsonrpc") != "2.0":
        raise MalformedError(INVALID_REQUEST, "Invalid Request", 'jsonrpc must be "2.0"', known)
    if not isinstance(method, str):
        raise MalformedError(INVALID_REQUEST, "Invalid Request", "method must be a string", known)
    if identifier is _ABSENT:
        return Notification(method, params)
    if params is not None and not isinstance(params, dict | list):
        reason = f"params must be an object, not {_describe_type(params)}"
        raise MalformedError(INVALID_PARAMS, "Invalid params", reason, known)
    return Request(known, method, params)


def _parse_response(value: dict[str, JsonValue]) -> Message | None:
    if not value.keys() & {"id", "result", "error"}:
        raise MalformedError(INVALID_REQUEST, "Invalid Request", "neither a call nor an answer")
    identifier = value.get("id")
    # Never answer a response. Ids of this side are integers from 1, so null matches nothing.
    if "id" not in value or not is_request_id(identifier) or identifier is None:
        return None
    if "error" in value and value["error"] is not None:
        return ResponseMessage(identifier, error=_parse_error_object(value["error"]))
    # No `result` at all counts as null: JSON.stringify drops members that are undefined.
    return ResponseMessage(identifier, value.get("result"))


def _parse_error_object(value: JsonValue) -> ErrorObject:
    if not isinstance(value, dict):
        return ErrorObject(0, "the answer was a malformed error", value)
    code, message = value.get("code"), value.get("message")
    return ErrorObject(
        # A response is read leniently: a request of this side must end, however sloppy its answer.
        code if isinstance(code, int) and not isinstance(code, bool) else 0,
        message if isinstance(message, str) else "unknown error",
        value.get("data"),
    )


def _describe_type(value: JsonValue) -> str:
    kinds = cast(
        "dict[type, str]",
        {
            type(None): "null",
            bool: "a boolean",
            str: "a string",
            list: "an array",
            dict: "an object",
        },
    )
    return kinds.get(type(value), "a number")
