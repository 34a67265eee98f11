"""What the server says of itself, to whomever asks, and what it takes from the client's words."""

import sys
from collections.abc import Iterable
from itertools import chain, combinations
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel
from tests.support.editor import Object, json_at
from tests.support.user_texts import INITIALIZE_FIRST, NO_SUCH_METHOD

CAPABILITIES: dict[str, Object] = {
    "read": {"fs": {"readTextFile": True}},
    "write": {"fs": {"writeTextFile": True}},
    "terminal": {"terminal": True},
    "form": {"elicitation": {"form": {}}},
    "url": {"elicitation": {"url": {}}},
    "notices": {"session": {"notices": {}}},
    "compaction": {"session": {"compaction": {}}},
    "boolean options": {"session": {"configOptions": {"boolean": {}}}},
    "terminal login": {"auth": {"terminal": True}},
}


def subsets(sizes: Iterable[int]) -> list[tuple[str, ...]]:
    return list(chain.from_iterable(combinations(CAPABILITIES, size) for size in sizes))


def capabilities(names: tuple[str, ...]) -> JsonValue:
    merged: dict[str, dict[str, JsonValue] | JsonValue] = {}
    for name in names:
        for key, value in CAPABILITIES[name].items():
            old = merged.get(key, {})
            merged[key] = (
                {**old, **value} if isinstance(old, dict) and isinstance(value, dict) else value
            )
    return cast("JsonValue", merged)


async def test_the_initialize_response_lists_all_agent_capabilities() -> None:
    """ACP-INIT, ACP-SCHEMA."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        assert await editor.call("initialize", {"protocolVersion": 1}) == expected.result_response(
            1, expected.INITIALIZED
        )


@pytest.mark.parametrize("version", [0, 2, 65535])
async def test_an_unsupported_version_is_answered_with_the_server_version(version: int) -> None:
    """Trap 12, ACP-INIT."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        assert await editor.initialize(protocolVersion=version) == expected.INITIALIZED


@pytest.mark.parametrize("params", [{}, {"clientCapabilities": {}}, None])
async def test_a_missing_protocol_version_is_reported(params: JsonValue) -> None:
    """Trap 11, ACP-JSONRPC: protocolVersion is strict."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        assert await editor.call("initialize", params) == expected.invalid_params(
            1, "protocolVersion: Field required"
        )


@pytest.mark.parametrize("version", ["1", None, -1, 65536, 1.5, True, [1], {}])
async def test_an_invalid_protocol_version_is_refused(version: JsonValue) -> None:
    """Trap 11, ACP-INIT: protocolVersion is strict."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        answer = await editor.call("initialize", {"protocolVersion": version})
        assert json_at(answer, "error", "code") == -32602
        assert str(json_at(answer, "error", "data", "details")).startswith("protocolVersion: ")


async def test_a_second_initialize_gets_the_same_response_and_sessions_survive() -> None:
    """Trap 12."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        assert await editor.initialize() == expected.INITIALIZED
        assert await editor.prompt(session, "hi") == expected.END_TURN


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/new", {"cwd": "/", "mcpServers": []}),
        ("session/prompt", {"sessionId": "s", "prompt": [{"type": "text", "text": "hi"}]}),
        ("session/set_mode", {"sessionId": "s", "modeId": "plan"}),
        ("session/set_config_option", {"sessionId": "s", "configId": "mode", "value": "plan"}),
        ("session/close", {"sessionId": "s"}),
        ("authenticate", {"methodId": "api-key"}),
        ("logout", {}),
    ],
)
async def test_all_other_requests_are_refused_before_initialize(
    method: str, params: JsonValue
) -> None:
    """Trap 12, ACP-INFO-INVALIDREQ."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        assert await editor.call(method, params) == expected.error_response(
            1, -32600, "Invalid Request", INITIALIZE_FIRST
        )
        assert await editor.initialize() == expected.INITIALIZED


async def test_a_cancel_before_initialize_is_ignored() -> None:
    """Trap 11, Trap 12."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        editor.cancel("nobody")
        assert await editor.initialize() == expected.INITIALIZED
        assert len(editor.messages) == 1


@pytest.mark.parametrize("method", ["session/set_model", "session/archive"])
async def test_an_unadvertised_method_is_not_found(method: str) -> None:
    """Trap 11, ACP-JSONRPC: the answer to initialize offers none of these."""
    async with open_checked_editor(EchoModel()) as editor:
        params: JsonValue = {"sessionId": "s", "cwd": "/", "methodId": "m", "mcpServers": []}
        assert await editor.call(method, params) == expected.error_response(
            2, -32601, "Method not found", f"{NO_SUCH_METHOD} {method!r}"
        )


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        "everything",
        5,
        [],
        {"fs": "yes", "terminal": "no", "auth": [], "elicitation": 1, "session": True},
        {"fs": {"readTextFile": "true"}, "session": {"configOptions": {"boolean": 1}}},
        {"somethingNew": {"deep": [1, 2, 3]}, "_meta": {"terminal_output": True}},
        {"_meta": "not an object"},
    ],
)
async def test_invalid_capabilities_count_as_absent(wrong: JsonValue) -> None:
    """Trap 11, ACP-CLIENTCAP: the schema says default on error."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        assert await editor.initialize(clientCapabilities=wrong, clientInfo=wrong) == (
            expected.INITIALIZED
        )
        session = await editor.new_session()
        assert await editor.prompt(session, "hi") == expected.END_TURN


@pytest.mark.parametrize(
    "sizes",
    [
        # Any two capabilities in each combination of offered and not offered.
        pytest.param((0, 1, len(CAPABILITIES) - 1, len(CAPABILITIES)), id="pairs"),
        pytest.param(range(len(CAPABILITIES) + 1), id="all", marks=pytest.mark.full),
    ],
)
async def test_the_server_never_requests_a_capability_the_client_did_not_offer(
    tmp_path: Path, sizes: Iterable[int]
) -> None:
    """Trap 20, ACP-CLIENTCAP: over subsets of the capabilities."""
    registry = make_scripted_registry(tmp_path)
    for names in subsets(sizes):
        async with open_checked_editor(registry, capabilities=capabilities(names)) as editor:
            session = await editor.new_session(tmp_path)
            await editor.prompt(session, "think")
            await editor.call("session/prompt", {"sessionId": session, "prompt": []})
            editor.start_prompt(session, "wait")
            editor.cancel(session)
            await editor.prompt(session, "/help")
            await editor.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
            await editor.call("session/close", {"sessionId": session})

        assert {str(message["method"]) for message in editor.messages if "method" in message} == {
            "session/update"
        }, names
        assert {str(json_at(each, "sessionUpdate")) for each in editor.updates_of(session)} == {
            "available_commands_update",
            "agent_thought_chunk",
            "agent_message_chunk",
            "config_option_update",
        }, names


async def test_a_client_with_a_terminal_is_offered_terminal_authentication() -> None:
    """Trap 20, ACP-AUTH."""
    terminal: JsonValue = {
        "id": "setup",
        "type": "terminal",
        "name": "Sign in from a terminal",
        "description": "Asks for an API key and stores it",
        "args": ["setup"],
    }
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        answer = await editor.initialize(clientCapabilities={"auth": {"terminal": True}})
        assert answer == expected.initialize_result(terminal)


async def test_a_client_with_the_legacy_terminal_capability_gets_the_login_command() -> None:
    """Trap 20, ACP-AUTH: `_meta.terminal-auth`, from before it was in the protocol."""
    capabilities: JsonValue = {"_meta": {"terminal-auth": True}}
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        methods = json_at(await editor.initialize(clientCapabilities=capabilities), "authMethods")
    command: JsonValue = {
        "label": "acp-server setup",
        "command": sys.executable,
        "args": ["-I", "-m", "acp_server", "setup"],
    }
    assert methods == [{**expected.API_KEY, "_meta": {"terminal-auth": command}}]


@pytest.mark.parametrize(
    "wrong",
    [
        {"auth": {"terminal": False}},
        {"auth": {"terminal": "yes"}},
        {"auth": {"terminal": 1}},
        {"auth": True},
        {"terminal": True},
        {"_meta": {"terminal-auth": "true"}},
        {"_meta": {"terminal-auth": None}},
    ],
)
async def test_no_other_client_is_offered_terminal_authentication(wrong: JsonValue) -> None:
    """Trap 20, ACP-AUTH, ACP-CLIENTCAP."""
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        assert await editor.initialize(clientCapabilities=wrong) == expected.INITIALIZED


async def test_metadata_is_accepted_everywhere_and_changes_nothing() -> None:
    """ACP-META."""
    meta: JsonValue = {"traceparent": "00-1-2-01", "example.com/x": {"deep": [None]}}
    async with open_checked_editor(EchoModel(), initialized=False) as editor:
        assert await editor.initialize(_meta=meta, clientInfo={"name": "x", "version": "1"}) == (
            expected.INITIALIZED
        )
        session = await editor.new_session(_meta=meta)
        block: JsonValue = {"type": "text", "text": "hi", "_meta": meta}
        prompt: JsonValue = {"sessionId": session, "prompt": [block], "_meta": meta}
        assert json_at(await editor.call("session/prompt", prompt), "result") == expected.END_TURN
        editor.notify("session/cancel", {"sessionId": session, "_meta": meta})
        mode: JsonValue = {"sessionId": session, "modeId": "plan", "_meta": meta}
        assert json_at(await editor.call("session/set_mode", mode), "result") == {}
        close: JsonValue = {"sessionId": session, "_meta": meta}
        assert json_at(await editor.call("session/close", close), "result") == {}
