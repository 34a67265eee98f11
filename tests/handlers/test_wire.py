"""Lines that are no request of ours to answer, told to the whole server while it works."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel
from tests.support.editor import json_at, prompt_params
from tests.support.user_texts import ID_IN_USE, NO_SUCH_METHOD


@pytest.mark.parametrize(
    ("line", "code", "message"),
    [
        (b"hello", -32700, "Parse error"),
        (b'{"jsonrpc":"2.0",', -32700, "Parse error"),
        (b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":NaN}', -32700, "Parse error"),
        (b"\xff\xfe{}", -32700, "Parse error"),
        (b"[" * 100_000, -32700, "Parse error"),
        (b"[]", -32600, "Invalid Request"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"session/close"}]', -32600, "Invalid Request"),
        (b"null", -32600, "Invalid Request"),
        (b"5", -32600, "Invalid Request"),
        (b'"text"', -32600, "Invalid Request"),
        (b"{}", -32600, "Invalid Request"),
        (b'{"jsonrpc":"2.0","id":true,"method":"initialize"}', -32600, "Invalid Request"),
        (b'{"jsonrpc":"2.0","id":{},"method":"initialize"}', -32600, "Invalid Request"),
    ],
)
async def test_an_invalid_line_is_answered_with_a_null_id_and_the_turn_continues(
    tmp_path: Path, line: bytes, code: int, message: str
) -> None:
    """Trap 10, ACP-JSONRPC, ACP-INFO-PARSE, ACP-INFO-INVALIDREQ."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        pending = editor.start_prompt(session, "wait")
        await editor.wait_until(lambda: editor.agent_text(session) or None, "first word")
        editor.send_line(line)
        answer = await editor.wait_for_response(lambda each: "error" in each)
        reason = str(json_at(answer, "error", "data", "details"))
        assert answer == expected.error_response(None, code, message, reason)
        assert not pending.is_answered
        editor.cancel(session)
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)


@pytest.mark.parametrize(
    "message",
    [
        {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}},
        {"jsonrpc": "2.0", "id": 99, "error": {"code": -32600, "message": "Invalid Request"}},
        {"jsonrpc": "2.0", "id": 1, "result": {}},
        {"jsonrpc": "2.0", "id": "x", "result": None},
        {"jsonrpc": "2.0", "result": {}},
        {"id": 3},
        {"error": "nonsense"},
    ],
)
async def test_an_unexpected_response_is_never_answered(message: JsonValue) -> None:
    """Trap 10: or two peers would answer each other's errors for ever."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        editor.send(message)
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert [each.get("id") for each in editor.messages] == [1, 2, None, None, 3]
        assert [each.get("error") for each in editor.messages] == [None] * 5


@pytest.mark.parametrize("method", ["$/progress", "_vendor/event", "session/unheard_of", "", "x"])
async def test_an_unknown_notification_is_ignored(method: str) -> None:
    """Trap 11, ACP-EXT, ACP-JSONRPC."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        editor.notify(method, {"sessionId": session})
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert [each.get("error") for each in editor.messages] == [None] * 5


@pytest.mark.parametrize("method", ["_vendor/request", "$/anything", "session/nothing", ""])
async def test_an_unknown_request_is_answered_with_method_not_found(method: str) -> None:
    """Trap 11, ACP-EXT, ACP-JSONRPC, ACP-ERROR."""
    async with open_checked_editor(EchoModel()) as editor:
        assert await editor.call(method, {"a": 1}) == expected.error_response(
            2, -32601, "Method not found", f"{NO_SUCH_METHOD} {method!r}"
        )


@pytest.mark.parametrize(
    "request_id", [0, -1, 2**63 - 1, "text", "", "1", "日本🙂", None], ids=repr
)
async def test_a_response_carries_the_unchanged_id_of_its_request(request_id: JsonValue) -> None:
    """ACP-JSONRPC: numbers, texts, and null, which is a request all the same."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        params: JsonValue = {"protocolVersion": 1}
        editor.send({"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": params})
        answer = await editor.wait_for_response(lambda _: True)
        assert answer == expected.result_response(request_id, expected.INITIALIZED)


async def test_a_second_request_with_an_id_in_use_is_refused(tmp_path: Path) -> None:
    """ACP-JSONRPC: the first one is left alone."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        request: JsonValue = {
            "jsonrpc": "2.0",
            "id": "same",
            "method": "session/prompt",
            "params": prompt_params(session, "wait"),
        }
        editor.send(request)
        editor.send(request)
        answer = await editor.wait_for_response(lambda each: each.get("id") == "same")
        assert answer == expected.error_response(
            "same",
            -32600,
            "Invalid Request",
            f"id 'same' {ID_IN_USE}",
        )
        editor.cancel(session)
        await editor.wait_for_response(lambda each: each.get("result") == expected.CANCELLED)


async def test_every_message_is_one_compact_line_of_json(tmp_path: Path) -> None:
    """Trap 7, Trap 8, ACP-TRANSPORT: the editor splits at newlines and nothing is left over."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "a\nb\r\nc\u2028d")
        update = editor.messages[-2]
        assert len(json.dumps(update, separators=(",", ":"))) < 300
        assert json_at(update, "params", "update", "content", "text") == "a\nb\r\nc\u2028d"


async def test_the_server_exits_when_the_stream_ends_during_turns(tmp_path: Path) -> None:
    """Trap 17, ACP-SHUTDOWN: in memory; `tests/wire` has the process."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        sessions = [await editor.new_session(tmp_path) for _ in range(3)]
        for session in sessions:
            editor.start_prompt(session, "wait")
            editor.start_prompt(session, "wait")
        await editor.wait_until(
            lambda: editor.agent_text(sessions[-1]) or None, "last session's word"
        )
        await editor.disconnect()
        assert [each for each in editor.messages if "error" in each] == []
