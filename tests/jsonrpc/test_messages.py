import json
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.jsonrpc.messages import (
    ErrorObject,
    Notification,
    Payload,
    Request,
    Response,
    encode,
    error_line,
    notification_line,
    request_line,
    result_line,
)
from acp_server.jsonrpc.parsing import parse_message


@dataclass
class Model:
    """Something that knows its own JSON."""

    json: bytes

    def to_json(self) -> bytes:
        return self.json


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
ids = st.none() | st.integers(-(2**63), 2**63 - 1) | st.text()


def test_json_is_compact_and_utf8() -> None:
    assert encode({"a": [1, "é😀\u2028"], "b": None}) == '{"a":[1,"é😀\u2028"],"b":null}'.encode()


def test_a_model_serializes_itself() -> None:
    assert result_line(1, Model(b'{"x":1}')) == b'{"jsonrpc":"2.0","id":1,"result":{"x":1}}\n'


def test_newlines_in_strings_do_not_end_the_line() -> None:
    line = notification_line("m", {"text": "a\nb\r\nc"})
    assert line.count(b"\n") == 1
    assert parse_message(line) == Notification("m", {"text": "a\nb\r\nc"})


def test_a_lone_surrogate_is_never_sent() -> None:
    assert encode("a\ud800b") == '"a\ufffdb"'.encode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [-float("inf")]])
def test_values_json_cannot_represent_are_refused(value: JsonValue) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        encode(value)


@given(ids, st.text(), st.dictionaries(st.text(), json_values))
def test_a_request_survives_a_round_trip(
    request_id: int | str | None, method: str, params: dict[str, JsonValue]
) -> None:
    line = request_line(request_id, method, params)
    assert parse_message(line.removesuffix(b"\n")) == Request(request_id, method, params)
    assert line.count(b"\n") == 1


@given(st.text(), st.dictionaries(st.text(), json_values))
def test_a_notification_survives_a_round_trip(method: str, params: dict[str, JsonValue]) -> None:
    assert parse_message(notification_line(method, params)) == Notification(method, params)


@given(ids.filter(lambda each: each is not None), json_values)
def test_a_result_survives_a_round_trip(request_id: int | str, result: JsonValue) -> None:
    assert parse_message(result_line(request_id, result)) == Response(request_id, result)


@given(st.integers(1, 9), st.integers(-40000, 0), st.text(), json_values)
def test_an_error_keeps_its_code_and_data_and_gets_a_single_line_message(
    request_id: int, code: int, message: str, data: JsonValue
) -> None:
    expected = ErrorObject(code, " ".join(message.split()), data)
    line = error_line(request_id, ErrorObject(code, message, data))
    assert parse_message(line) == Response(request_id, error=expected)
    assert len(expected.message.splitlines()) <= 1


def test_an_error_without_data_has_no_data() -> None:
    assert error_line(None, ErrorObject(-32700, "Parse error")) == (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}\n'
    )


@pytest.mark.parametrize("payload", [None, {}, [], "text", 0])
def test_every_line_is_one_json_object(payload: Payload) -> None:
    lines: Sequence[bytes] = (
        request_line(1, "m", payload),
        notification_line("m", payload),
        result_line("1", payload),
    )
    for line in lines:
        assert isinstance(json.loads(line), dict)
        assert line.endswith(b"}\n")


def test_an_error_quotes_its_cause_briefly_and_keeps_its_end() -> None:
    error = ErrorObject(-32602, "Invalid params", {"message": "x" * 1_000_000 + " is too long"})
    line = error_line(1, error)
    assert len(line) < 3_000
    assert line.endswith(b' is too long"}}}\n')
