"""Providers that a client routes elsewhere or disables (draft `providers/*`)."""

import json
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.anthropic_model.model_session import KEY
from tests.handlers.test_drafts import assert_draft, call
from tests.support.editor import Editor, Object, json_at, make_configuration, open_editor
from tests.support.messages_api import MessagesServerConfig, messages_api

GATEWAY_KEY = "sk-gateway"
SIGN_INS = {"X-Api-Key": GATEWAY_KEY, "authorization": f"Bearer {GATEWAY_KEY}"}
REPLIES = ["Through the gateway.", "Again."]
ENVIRONMENT_KEY = "sk-environment"


async def providers(editor: Editor) -> dict[str, Object]:
    """Return the listed providers by id."""
    listed = await call(editor, "providers/list", "ListProvidersResponse")
    found = cast("list[Object]", listed["providers"])
    return {str(each["providerId"]): each for each in found}


async def refusal(editor: Editor, method: str, **params: JsonValue) -> str:
    """Return why a request is refused as invalid."""
    answer = await editor.call(method, params)
    assert json_at(answer, "error", "code") == -32602
    return str(json_at(answer, "error", "message"))


async def test_requests_go_where_the_client_says_with_its_key_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", ENVIRONMENT_KEY)
    keys = frozenset({GATEWAY_KEY, KEY, ENVIRONMENT_KEY})
    async with (
        messages_api(["From the provider."]) as own,
        messages_api(REPLIES, MessagesServerConfig(keys=keys)) as gateway,
    ):
        configuration = make_configuration(
            tmp_path,
            options={"--model": "claude-opus-5"},
            environment={"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_BASE_URL": own.url},
        )
        async with open_editor(configuration) as editor:
            assert json_at(await editor.initialize(), "agentCapabilities", "providers") == {}
            main: Object = {"providerId": "anthropic", "supported": ["anthropic"], "required": True}
            current: JsonValue = {"apiType": "anthropic", "baseUrl": own.url}
            assert await providers(editor) == {"anthropic": {**main, "current": current}}
            session = await editor.new_session(tmp_path)
            route: Object = {
                "providerId": "anthropic",
                "apiType": "anthropic",
                "baseUrl": f"{gateway.url}/",
            }
            for name, value in SIGN_INS.items():
                headers: Object = {name: value}
                await call(editor, "providers/set", "SetProviderResponse", **route, headers=headers)
                await editor.prompt(session, "hi")
            assert editor.agent_text(session) == "Through the gateway.Again."
            # No header of the client, so no key at all: neither ours nor the environment's.
            await call(editor, "providers/set", "SetProviderResponse", **route)
            answer = await editor.call("session/prompt", _prompt(session))
            assert "error" in answer
            listed = await providers(editor)
            assert json_at(listed["anthropic"], "current", "baseUrl") == gateway.url
            status = await call(editor, "auth/status", "AuthStatusResponse")
            assert status["state"] == "not_required"
            assert GATEWAY_KEY not in json.dumps(editor.messages)
        assert not own.requests
        verdicts = [each.verdict for each in gateway.model_requests]
        assert verdicts[:2] == ["answered"] * 2
        assert "answered" not in verdicts[2:]


async def test_a_provider_that_is_not_required_can_be_disabled(tmp_path: Path) -> None:
    configuration = make_configuration(
        tmp_path, environment={"ANTHROPIC_API_KEY": KEY, "OPENAI_API_KEY": "sk-openai"}
    )
    async with open_editor(configuration) as editor:
        await editor.initialize()
        assert json_at((await providers(editor))["openai"], "required") is False
        session = await editor.new_session(tmp_path)
        model: Object = {"configId": "model", "value": "openai:default", "sessionId": session}
        assert "result" in await editor.call("session/set_config_option", model)
        await call(editor, "providers/disable", "DisableProviderResponse", providerId="openai")
        assert "current" not in (await providers(editor))["openai"]
        update = await editor.wait_for_response(
            lambda each: (
                "config_option_update" in json.dumps(each) and "openai:" not in json.dumps(each)
            )
        )
        assert json_at(update, "params", "sessionId") == session, "its models are not offered"
        catalog_error = await editor.call("session/set_config_option", model)
        assert json_at(catalog_error, "error", "code") == -32602
        unknown = await call(
            editor, "providers/disable", "DisableProviderResponse", providerId="unknown"
        )
        assert unknown == {}
        reason = await refusal(editor, "providers/disable", providerId="anthropic")
        assert "cannot be disabled" in reason


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"providerId": "unknown"}, "unknown provider"),
        ({"apiType": "openai"}, "speaks anthropic"),
        ({"baseUrl": "file:///etc/passwd"}, "baseUrl"),
        ({"baseUrl": "https://user:secret@host"}, "baseUrl"),
        ({"baseUrl": "https://"}, "baseUrl"),
        ({"baseUrl": "https://host:port"}, "baseUrl"),
        ({"headers": {"a": 1}}, "headers"),
    ],
)
async def test_a_route_that_does_not_fit_is_refused(
    tmp_path: Path, changed: Object, reason: str
) -> None:
    configuration = make_configuration(tmp_path, environment={"ANTHROPIC_API_KEY": KEY})
    async with open_editor(configuration) as editor:
        await editor.initialize()
        before = await providers(editor)
        route: Object = {
            "providerId": "anthropic",
            "apiType": "anthropic",
            "baseUrl": "https://gateway.example",
        }
        assert reason in await refusal(editor, "providers/set", **{**route, **changed})
        assert await providers(editor) == before


async def test_a_server_with_a_scripted_model_has_no_providers(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path, "prompt: *\nsay: Hello.\n")) as editor:
        await editor.initialize()
        assert await providers(editor) == {}
        assert "unknown provider" in await refusal(
            editor, "providers/set", providerId="a", apiType="openai", baseUrl="https://a"
        )
        await call(editor, "providers/disable", "DisableProviderResponse", providerId="a")
        assert_draft("InitializeResponse", await editor.initialize())


def _prompt(session: str) -> JsonValue:
    return {"sessionId": session, "prompt": [{"type": "text", "text": "hi"}]}
