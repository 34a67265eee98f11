"""What `initialize` answers, and what comes before it."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.startup.handshake import initialize_result
from tests.support.editor import Object, json_at, make_configuration, open_editor
from tests.support.server_process import start_server
from tests.support.user_texts import INITIALIZE_FIRST
from tests.wire.malformed_messages import NOTIFICATIONS, PARAMS


def hello(identifier: JsonValue, **params: JsonValue) -> Object:
    return {"jsonrpc": "2.0", "id": identifier, "method": "initialize", "params": params}


def result(identifier: JsonValue) -> Object:
    return {"jsonrpc": "2.0", "id": identifier, "result": initialize_result({})}


@pytest.mark.parametrize("version", [0, 1, 2, 65535])
async def test_every_version_is_answered_with_the_server_version(
    tmp_path: Path, version: int
) -> None:
    async with open_editor(make_configuration(tmp_path)) as editor:
        assert await editor.initialize(protocolVersion=version) == initialize_result({})
    assert json_at(initialize_result({}), "protocolVersion") == 1


async def test_a_second_initialize_is_answered_like_the_first(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path, "prompt: *\nsay: Hello!")) as editor:
        assert await editor.initialize() == initialize_result({})
        session_id = await editor.new_session()
        assert await editor.initialize() == initialize_result({})
        assert await editor.prompt(session_id, "hi") == {"stopReason": "end_turn"}


async def test_an_initialize_answered_on_the_fast_path_counts(tmp_path: Path) -> None:
    params: JsonValue = {"protocolVersion": 1}
    async with open_editor(make_configuration(tmp_path), initialize_params=params) as editor:
        assert (await editor.new_session()).startswith("sess_")


@pytest.mark.parametrize("version", ["1", 1.0, True, None, -1, 65536, [1], {}])
async def test_an_invalid_version_is_rejected(tmp_path: Path, version: JsonValue) -> None:
    async with open_editor(make_configuration(tmp_path)) as editor:
        response = await editor.call("initialize", {"protocolVersion": version})
        assert json_at(response, "error", "code") == -32602
        assert str(json_at(response, "error", "data", "details")).startswith("protocolVersion: ")


@pytest.mark.parametrize("params", [None, {}, [], [1]])
async def test_an_initialize_without_a_version_is_rejected(
    tmp_path: Path, params: JsonValue
) -> None:
    async with open_editor(make_configuration(tmp_path)) as editor:
        assert json_at(await editor.call("initialize", params), "error", "code") == -32602
        await editor.initialize()


@pytest.mark.parametrize("method", sorted(PARAMS.keys() - NOTIFICATIONS - {"initialize"}))
async def test_other_methods_require_initialize(tmp_path: Path, method: str) -> None:
    reason = INITIALIZE_FIRST
    async with open_editor(make_configuration(tmp_path)) as editor:
        response = await editor.call(method, PARAMS[method])
        assert response["error"] == {
            "code": -32600,
            "message": f"Invalid Request: {reason}",
            "data": {"details": reason},
        }
        await editor.initialize()
        await editor.new_session()


async def test_notifications_before_initialize_are_ignored(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path)) as editor:
        editor.cancel("none")
        editor.notify("$/cancel_request", {"requestId": 1})
        await editor.initialize()
        await editor.disconnect()
        assert len(editor.messages) == 1


def test_a_real_server_answers_identically_on_both_paths(tmp_path: Path) -> None:
    with start_server(tmp_path, new_interpreter=True) as server:
        server.send_bytes(b'  {"jsonrpc":"2.0","id":"x","method":"initialize",')
        server.send_bytes(b'"params":{"protocolVersion":65535}}\n')
        short = server.read_line()
        server.send(hello("x", protocolVersion=65535))
        assert server.read_line() == short
        for message, answer in [
            (hello(None, protocolVersion=0), result(None)),
            (hello("", protocolVersion=1), result("")),
        ]:
            server.send(message)
            assert server.receive() == answer
        server.close_stdin()
        assert (server.wait(), server.stderr()) == (0, "")


def test_a_real_server_answers_an_initialize_with_a_null_id(tmp_path: Path) -> None:
    with start_server(tmp_path, new_interpreter=True) as server:
        server.send(hello(None, protocolVersion=1))
        assert server.receive() == result(None)
        assert server.new_session().startswith("sess_")


def test_a_real_server_stays_uninitialized_after_a_rejected_initialize(tmp_path: Path) -> None:
    with start_server(tmp_path, new_interpreter=True) as server:
        assert (
            json_at(server.call("initialize", {"protocolVersion": "1"}), "error", "code") == -32602
        )
        response = server.call("session/new", {"cwd": "/", "mcpServers": []})
        assert json_at(response, "error", "code") == -32600
        server.initialize()
        assert server.new_session().startswith("sess_")
