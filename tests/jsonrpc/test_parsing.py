import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.jsonrpc.errors import INVALID_PARAMS, INVALID_REQUEST, PARSE_ERROR, MalformedError
from acp_server.jsonrpc.messages import (
    ErrorObject,
    Message,
    Notification,
    Request,
    RequestId,
    Response,
)
from acp_server.jsonrpc.parsing import find_leading_id, parse_message, starts_as_response
from tests.support.case_table import each_case


def refusal(line: bytes) -> tuple[int, RequestId]:
    """The code and the id of the answer that a malformed line deserves."""
    with pytest.raises(MalformedError) as caught:
        parse_message(line)
    return caught.value.error.code, caught.value.request_id


def call(**members: JsonValue) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": "m", **members}).encode()


def answer(**members: JsonValue) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


NOT_JSON = {
    "words": b"hello",
    "half an object": b'{"jsonrpc":"2.0","id":1',
    "two values": b"{} {}",
    "python": b"{'id': 1}",
    "a trailing comma": b'{"id":1,}',
    "a comment": b'{"id":1} // one',
    "NaN": b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":NaN}}',
    "Infinity": b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":Infinity}}',
    "minus Infinity": b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":-Infinity}}',
    "a NUL": b"\0",
    "a NUL in a string": b'{"jsonrpc":"2.0","id":1,"method":"m\0"}',
    "a NUL behind": b'{"jsonrpc":"2.0","id":1,"method":"m"}\0',
    "a tab in a string": b'{"jsonrpc":"2.0","id":1,"method":"m\t"}',
    "invalid UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff"}',
    "UTF-16": '{"jsonrpc":"2.0","id":1,"method":"m"}'.encode("utf-16"),
    "a surrogate in UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xed\xa0\x80"}',
    "an overlong encoding": b'{"jsonrpc":"2.0","id":1,"method":"\xc0\xaf"}',
    "100,000 arrays": b"[" * 100_000,
    "100,000 arrays, closed": b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": b'{"a":' * 100_000,
    "100,000 arrays in params": b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":'
    + b"[" * 100_000
    + b"]" * 100_000
    + b"}}",
    "an integer of 5,000 digits": b'{"jsonrpc":"2.0","id":%b,"method":"m"}' % (b"1" * 5000),
    "only a byte order mark": b"\xef\xbb\xbf",
    "two byte order marks": b"\xef\xbb\xbf\xef\xbb\xbf{}",
}


@each_case("line", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_invalid_json_is_a_parse_error_without_an_id(line: bytes) -> None:
    assert refusal(line) == (PARSE_ERROR, None)


@each_case("number", ["1e999", "-1e999", "1.8e308", "1" * 400 + ".0"])
@each_case("params", ['{"x":[0]}', '{"text":"\\ud83d\\ude00","x":0}', "[[0]]"])
def test_an_unrepresentable_number_is_an_invalid_param(number: str, params: str) -> None:
    with_number = params.replace("0]", f"{number}]").replace("0}", f"{number}}}")
    line = f'{{"jsonrpc":"2.0","id":7,"method":"m","params":{with_number}}}'
    assert refusal(line.encode()) == (INVALID_PARAMS, 7)


@pytest.mark.parametrize("member", [b"result", b"error"])
def test_a_response_with_an_unrepresentable_number_has_failed(member: bytes) -> None:
    line = b'{"jsonrpc":"2.0","id":7,"%b":{"x":1e999}}' % member
    failed = Response(7, error=ErrorObject(0, "the number 1e999 is too large"))
    assert parse_message(line) == failed


def test_a_notification_with_an_unrepresentable_number_is_ignored() -> None:
    assert parse_message(b'{"jsonrpc":"2.0","method":"m","params":{"x":1e999}}') is None


def test_the_largest_and_smallest_numbers_are_parsed() -> None:
    line = b'{"jsonrpc":"2.0","method":"m","params":[1.7976931348623157e308,1e-999,1%b]}'
    numbers: JsonValue = [1.7976931348623157e308, 0.0, 10**400]
    assert parse_message(line % (b"0" * 400)) == Notification("m", numbers)


@each_case("line", [b"null", b"true", b"1", b"1.5", b'"text"', b"[]", b"[1,2]", b"-0", b"1e400"])
def test_json_that_is_not_an_object_is_an_invalid_request_without_an_id(line: bytes) -> None:
    assert refusal(line) == (INVALID_REQUEST, None)


def test_a_batch_is_one_invalid_request() -> None:
    assert refusal(b"[" + call(id=1) + b"," + call(id=2) + b"]") == (INVALID_REQUEST, None)


@pytest.mark.parametrize("line", [b"{}", b'{"jsonrpc":"2.0"}', b'{"params":{}}'])
def test_an_object_that_is_neither_request_nor_response_is_an_invalid_request(line: bytes) -> None:
    assert refusal(line) == (INVALID_REQUEST, None)


@each_case("identifier", [1, 0, -1, 2**63 - 1, -(2**63), "1", "", "é", "\0", None])
def test_null_64_bit_integers_and_strings_are_valid_ids(identifier: RequestId) -> None:
    assert parse_message(call(id=identifier, params={})) == Request(identifier, "m", {})


@each_case("identifier", [True, False, 1.0, 1.5, 1e300, 2**63, -(2**63) - 1, 10**400, [], [1], {}])
def test_nothing_else_is_a_valid_id(identifier: JsonValue) -> None:
    assert refusal(call(id=identifier)) == (INVALID_REQUEST, None)


@each_case(
    ("line", "identifier"),
    [
        (b'{"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":"1.0","id":"a","method":"m"}', "a"),
        (b'{"jsonrpc":2.0,"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":null,"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":["2.0"],"id":1,"method":"m"}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":1}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":null}', 1),
        (b'{"jsonrpc":"2.0","id":1,"method":["m"]}', 1),
        (b'{"jsonrpc":"2.0","id":null,"method":{}}', None),
        (b'{"jsonrpc":"2.0","method":1}', None),
        (b'{"method":"m"}', None),
    ],
)
def test_a_request_with_an_invalid_envelope_is_refused_under_its_id(
    line: bytes, identifier: RequestId
) -> None:
    assert refusal(line) == (INVALID_REQUEST, identifier)


@pytest.mark.parametrize("params", [1, "text", True, 0, 1.5])
def test_non_object_params_of_a_request_are_invalid_under_its_id(params: JsonValue) -> None:
    assert refusal(call(id=7, params=params)) == (INVALID_PARAMS, 7)


def test_absent_and_null_params_are_equivalent() -> None:
    assert parse_message(call(id=1)) == Request(1, "m", None)
    assert parse_message(call(id=1, params=None)) == Request(1, "m", None)


def test_a_call_without_an_id_is_a_notification_whatever_its_params() -> None:
    assert parse_message(call(params={"a": 1})) == Notification("m", {"a": 1})
    assert parse_message(call(params=5)) == Notification("m", 5)


def test_unknown_members_are_ignored() -> None:
    assert parse_message(call(id=1, extra=[1], _meta={})) == Request(1, "m", None)


def test_a_request_with_a_result_member_is_a_request() -> None:
    assert parse_message(call(id=1, result={})) == Request(1, "m", None)


def test_the_last_of_duplicate_members_is_used() -> None:
    line = b'{"jsonrpc":"2.0","id":1,"id":2,"method":"a","method":"b","params":{"x":1,"x":2}}'
    assert parse_message(line) == Request(2, "b", {"x": 2})


def test_a_leading_byte_order_mark_is_ignored() -> None:
    assert parse_message(b"\xef\xbb\xbf" + call(id=1)) == Request(1, "m", None)


@each_case(
    ("line", "expected"),
    [
        (answer(id=1, result={"a": 1}), Response(1, {"a": 1})),
        (answer(id="1", result=None), Response("1", None)),
        (answer(id=1, result=5, error=None), Response(1, 5)),
        (
            answer(id=1, error={"code": -1, "message": "no", "data": [1]}),
            Response(1, error=ErrorObject(-1, "no", [1])),
        ),
        (
            answer(id=1, result=5, error={"code": 1, "message": "no"}),
            Response(1, error=ErrorObject(1, "no")),
        ),
        (answer(id=1, error={}), Response(1, error=ErrorObject(0, "unknown error"))),
        (
            answer(id=1, error={"code": True, "message": 5}),
            Response(1, error=ErrorObject(0, "unknown error")),
        ),
        (
            answer(id=1, error="boom"),
            Response(1, error=ErrorObject(0, "the answer was a malformed error", "boom")),
        ),
        (b'{"id":1,"result":{}}', Response(1, {})),
    ],
)
def test_a_response_is_parsed_leniently(line: bytes, expected: Response) -> None:
    assert parse_message(line) == expected


@pytest.mark.parametrize("line", [answer(id=1), answer(id=1, error=None)])
def test_an_empty_response_is_a_null_result(line: bytes) -> None:
    assert parse_message(line) == Response(1, None)


@each_case(
    "line",
    [
        answer(id=None, error={"code": -32700, "message": "Parse error"}),
        answer(id=None, result={}),
        answer(id=None),
        answer(result={}),
        answer(error={"code": -1, "message": "no"}),
        answer(error=None),
        answer(id=True, result={}),
        answer(id=1.0, result={}),
        answer(id=2**63, result={}),
        answer(id=[], error={}),
        b'{"result":1}',
    ],
)
def test_an_unmatchable_response_is_ignored(line: bytes) -> None:
    assert parse_message(line) is None


@each_case(
    ("escaped", "read"),
    [
        (rb"\ud800", "\ufffd"),
        (rb"\udfff", "\ufffd"),
        (rb"\udc00\ud800", "\ufffd\ufffd"),
        (rb"\ud83dA", "\ufffdA"),
        (rb"\uD83D\uDE00", "😀"),
        (rb"\ud83d\ud83d\ude00", "\ufffd😀"),
        (rb"\\ud800", "\\ud800"),
        (rb"\u2028\u0000\ufffe", "\u2028\0\ufffe"),
    ],
)
def test_a_lone_surrogate_becomes_the_replacement_character_everywhere(
    escaped: bytes, read: str
) -> None:
    line = b'{"jsonrpc":"2.0","id":"%b","method":"%b","params":{"%b":["%b"]}}' % ((escaped,) * 4)
    assert parse_message(line) == Request(read, read, {read: [read]})


def test_replacing_surrogates_changes_nothing_else() -> None:
    numbers: JsonValue = [1e22, 0.1, 12345678901234567890, -0.0]
    expected = Request(1, "m", {"\ufffd": numbers})
    assert parse_message(call(id=1, params={"\ud800": numbers})) == expected


@pytest.mark.parametrize("depth", [400, 900, 990, 2000, 50_000])
def test_deep_nesting_with_a_lone_surrogate_is_parsed_or_refused(depth: int) -> None:
    nested = b"[" * depth + rb'"\ud800"' + b"]" * depth
    outcome = read(b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"x":%b}}' % nested)
    assert isinstance(outcome, Request) or outcome == PARSE_ERROR


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
members = st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"])


def read(line: bytes) -> Message | int | None:
    """The message on a line, or the code that it is refused with."""
    try:
        return parse_message(line)
    except MalformedError as error:
        return error.error.code


@given(st.one_of(st.binary(), json_values.map(json.dumps).map(str.encode)))
def test_parsing_raises_only_its_own_error(line: bytes) -> None:
    read(line)


@given(st.dictionaries(members, json_values))
def test_an_object_that_looks_like_a_response_is_never_answered(
    value: dict[str, JsonValue],
) -> None:
    value.pop("method", None)
    value.setdefault("result", None)
    line = json.dumps(value).replace("NaN", "0").replace("Infinity", "0").encode()
    assert isinstance(read(line), Response | None)


@each_case(
    ("head", "identifier"),
    [
        (b'{"jsonrpc":"2.0","id":5,"method":"session/prompt","params":{"text":"', 5),
        (b'{"id":-5,"x', -5),
        (b' { "id" : "a\\"b" , "method', 'a"b'),
        (b'{"jsonrpc":"2.0","method":"m","id":9,"params":{', 9),
        (b'{"id":"","method', ""),
        (b'{"id":null,"method"', None),
        (b'{"id":true,"method"', None),
        (b'{"id":1.5,"method"', None),
        (b'{"id":9223372036854775808,"method"', None),
        (b'{"id":99999999999999999999999,"method"', None),
        (b'{"params":{"id":5,"text":"', None),
        (b'{"params":[{"id":5,"text":"', None),
        (b'[{"id":5,"method"', None),
        (b'{"id":"\xff","method"', None),
        (b'{"id":12', None),
        (b'{"method":"\\"id\\":5,', None),
        (b'{"a":"id","b":5,', None),
        (b"xxxxxxxxxxxxxxxx", None),
        (b"", None),
    ],
)
def test_the_id_of_an_oversized_message_is_extracted_only_if_certain(
    head: bytes, identifier: RequestId
) -> None:
    assert find_leading_id(head) == identifier


@each_case(
    ("head", "is_answer"),
    [
        (b'{"jsonrpc":"2.0","id":5,"result":{"content":"', True),
        (b'{"jsonrpc":"2.0","id":5,"result":"', True),
        (b' { "error" : {"code":1', True),
        (b'{"jsonrpc":"2.0","id":5,"method":"m","params":{"result":"', False),
        (b'{"jsonrpc":"2.0","id":5,"method":"result","params":{"', False),
        (b'{"method":"\\"result\\":', False),
        (b'[{"result":', False),
        (b"", False),
    ],
)
def test_an_oversized_response_is_recognized_by_its_head(head: bytes, *, is_answer: bool) -> None:
    assert starts_as_response(head) == is_answer


@given(st.binary(max_size=4096))
def test_any_head_can_be_inspected(head: bytes) -> None:
    find_leading_id(head)
    find_leading_id(b'{"id":' + head)
