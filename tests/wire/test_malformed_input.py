"""Lines that are no messages, before and between good ones."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.support.editor import Object, json_at, make_configuration, open_editor, prompt_params
from tests.support.server_process import HELLO_SCRIPT, start_server

NOT_JSON, NOT_A_REQUEST, BAD_PARAMS = -32700, -32600, -32602

MALFORMED: dict[str, tuple[bytes, int, JsonValue]] = {
    "an array": (b"[1,2,3]", NOT_A_REQUEST, None),
    "an empty array": (b"[]", NOT_A_REQUEST, None),
    "a batch": (b'[{"jsonrpc":"2.0","id":1,"method":"initialize"}]', NOT_A_REQUEST, None),
    "a number": (b"42", NOT_A_REQUEST, None),
    "null": (b"null", NOT_A_REQUEST, None),
    "true": (b"true", NOT_A_REQUEST, None),
    "a string": (b'"initialize"', NOT_A_REQUEST, None),
    "an empty object": (b"{}", NOT_A_REQUEST, None),
    "words": (b"Hello, server!", NOT_JSON, None),
    "half a message": (b'{"jsonrpc":"2.0","id":"m"', NOT_JSON, None),
    "a NUL": (b"\0", NOT_JSON, None),
    "bytes that are no UTF-8": (b'{"jsonrpc":"2.0","id":"m","method":"\xff"}', NOT_JSON, None),
    "NaN": (b'{"jsonrpc":"2.0","id":"m","method":"x","params":{"a":NaN}}', NOT_JSON, None),
    "100,000 arrays": (b"[" * 100_000 + b"]" * 100_000, NOT_JSON, None),
    "100,000 arrays in a prompt": (
        b'{"jsonrpc":"2.0","id":"m","method":"session/prompt","params":{"prompt":'
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}}",
        NOT_JSON,
        None,
    ),
    "a huge integer": (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b"}", NOT_JSON, None),
    "an id above 64 bits": (
        b'{"jsonrpc":"2.0","id":9223372036854775808,"method":"initialize"}',
        NOT_A_REQUEST,
        None,
    ),
    "true for an id": (b'{"jsonrpc":"2.0","id":true,"method":"x"}', NOT_A_REQUEST, None),
    "another version of JSON-RPC": (
        b'{"jsonrpc":"1.0","id":"m","method":"x"}',
        NOT_A_REQUEST,
        "m",
    ),
    "a number for a method": (b'{"jsonrpc":"2.0","id":"m","method":1}', NOT_A_REQUEST, "m"),
    "a string for params": (
        b'{"jsonrpc":"2.0","id":"m","method":"initialize","params":"x"}',
        BAD_PARAMS,
        "m",
    ),
}
IGNORED = {
    "a blank line": b"",
    "spaces": b"   \t ",
    "a carriage return": b"\r",
    "an answer to nothing": b'{"jsonrpc":"2.0","id":99,"result":{}}',
    "an error answer with a null id": (
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}'
    ),
    "an unknown notification": b'{"jsonrpc":"2.0","method":"_x/y","params":[1]}',
    "a bad notification": b'{"jsonrpc":"2.0","method":"session/cancel","params":[1]}',
}


def code_and_id(answer: Object) -> tuple[JsonValue, JsonValue]:
    assert json_at(answer, "error", "data", "details"), answer
    return json_at(answer, "error", "code"), answer["id"]


@pytest.mark.parametrize("name", MALFORMED)
async def test_a_malformed_line_is_answered_and_the_next_request_works(
    tmp_path: Path, name: str
) -> None:
    line, *expected = MALFORMED[name]
    async with open_editor(make_configuration(tmp_path, HELLO_SCRIPT)) as editor:
        editor.send_line(line)
        assert [*code_and_id(await editor.wait_for_response(lambda _: True))] == expected
        await editor.initialize()
        session_id = await editor.new_session()
        assert await editor.prompt(session_id, "hi") == {"stopReason": "end_turn"}


@pytest.mark.parametrize("name", IGNORED)
async def test_a_line_that_needs_no_response_gets_none(tmp_path: Path, name: str) -> None:
    async with open_editor(make_configuration(tmp_path, HELLO_SCRIPT)) as editor:
        editor.send_line(IGNORED[name])
        await editor.initialize()
        await editor.disconnect()
        assert len(editor.messages) == 1


def test_a_real_server_answers_every_malformed_line_in_order_and_continues(
    tmp_path: Path,
) -> None:
    with start_server(tmp_path) as server:
        server.initialize()
        session_id = server.new_session()
        assert json_at(server.receive_update(), "params", "sessionId") == session_id
        for line, *expected in MALFORMED.values():
            server.send_bytes(line + b"\n")
            assert [*code_and_id(server.receive())] == expected
        for line in IGNORED.values():
            server.send_bytes(line + b"\n")
        assert server.prompt(session_id)["result"] == {"stopReason": "end_turn"}
        server.close_stdin()
        assert server.receive_until_end() == []
        assert server.wait() == 0
        assert "Traceback" not in server.stderr()


@pytest.mark.parametrize(
    "name",
    [
        *("an array", "a NUL"),
        *(pytest.param(name, marks=pytest.mark.full) for name in ("a number", "null", "words")),
    ],
)
def test_a_real_server_survives_a_malformed_first_line(tmp_path: Path, name: str) -> None:
    line, *expected = MALFORMED[name]
    with start_server(tmp_path) as server:
        server.send_bytes(line + b"\n")
        assert [*code_and_id(server.receive())] == expected
        server.initialize()
        assert server.prompt(server.new_session())["result"] == {"stopReason": "end_turn"}


async def test_an_unpaired_surrogate_in_a_prompt_becomes_a_replacement_character(
    tmp_path: Path,
) -> None:
    script = "prompt: \ufffd and \ufffd, 😀\nsay: I saw \ufffd."
    async with open_editor(make_configuration(tmp_path, script)) as editor:
        await editor.initialize()
        session_id = await editor.new_session()
        turn = await editor.prompt(session_id, "\ud800 and \udfff, \ud83d\ude00")
        assert turn == {"stopReason": "end_turn"}
        assert editor.agent_text(session_id) == "I saw \ufffd."


async def test_an_unpaired_surrogate_in_an_id_becomes_a_replacement_character(
    tmp_path: Path,
) -> None:
    async with open_editor(make_configuration(tmp_path)) as editor:
        editor.send_line(rb'{"jsonrpc":"2.0","id":"a\ud800","method":"no/such"}')
        answer = await editor.wait_for_response(lambda message: message.get("id") == "a\ufffd")
        assert json_at(answer, "error", "code") == -32601


@pytest.mark.parametrize("text", ["\0", "a\nb\r\nc", "\u2028\u2029\x85", "\ufeff", "\x7f\x1b[31m"])
async def test_any_character_can_be_sent_in_a_prompt(tmp_path: Path, text: str) -> None:
    async with open_editor(make_configuration(tmp_path, HELLO_SCRIPT)) as editor:
        await editor.initialize()
        session_id = await editor.new_session()
        assert await editor.prompt(session_id, text) == {"stopReason": "end_turn"}
        assert await editor.call("no/such", prompt_params(session_id, text))
