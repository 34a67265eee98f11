"""Signing in and out, and being told to."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.config.credentials import Credential, KeyStore
from tests.handlers import expected
from tests.handlers.checked_editor import open_checked_editor
from tests.handlers.fake_models import EchoModel
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.server_parts import make_auth_handlers
from tests.support.user_texts import AUTHENTICATION_REQUIRED

CONFIGURED = Credential("environment", api_key="sk-configured")
NO_KEY = (
    "no API key found: set ANTHROPIC_API_KEY where the editor starts this server, or run "
    "`acp-server setup` in a terminal"
)


def method(method_id: JsonValue) -> JsonValue:
    return {"methodId": method_id}


@pytest.mark.parametrize("method_id", ["api-key", "setup"])
async def test_a_user_with_a_key_is_signed_in(method_id: str) -> None:
    """Trap 18, ACP-AUTH."""
    async with open_checked_editor(
        EchoModel(), auth=make_auth_handlers(configured=CONFIGURED)
    ) as editor:
        assert await editor.call("authenticate", method(method_id)) == expected.result_response(
            2, {}
        )


@pytest.mark.parametrize("method_id", ["api-key", "setup"])
async def test_a_user_without_a_key_is_told_where_to_store_one(method_id: str) -> None:
    """Trap 19, ACP-AUTH: -32000 means: sign in."""
    async with open_checked_editor(EchoModel()) as editor:
        assert await editor.call("authenticate", method(method_id)) == expected.error_response(
            2, -32000, AUTHENTICATION_REQUIRED, NO_KEY
        )


async def test_a_key_stored_meanwhile_is_found(tmp_path: Path) -> None:
    """ACP-AUTH: the terminal in which it was stored is another process."""
    async with open_checked_editor(EchoModel(), auth=make_auth_handlers(tmp_path)) as editor:
        assert "error" in await editor.call("authenticate", method("setup"))
        KeyStore(tmp_path, use_keyring=False).save("sk-1")
        assert await editor.call("authenticate", method("setup")) == expected.result_response(3, {})


@pytest.mark.parametrize("method_id", ["", "API-KEY", "oauth"])
async def test_an_unknown_method_is_refused_with_the_known_ones(method_id: str) -> None:
    """Trap 11, ACP-AUTH."""
    async with open_checked_editor(
        EchoModel(), auth=make_auth_handlers(configured=CONFIGURED)
    ) as editor:
        assert await editor.call("authenticate", method(method_id)) == expected.invalid_params(
            2, f"methodId: unknown method {method_id!r}; use one of api-key, setup"
        )


@pytest.mark.parametrize("method_id", [None, 5, True, ["api-key"]])
async def test_a_non_string_method_is_refused(method_id: JsonValue) -> None:
    """Trap 11."""
    async with open_checked_editor(
        EchoModel(), auth=make_auth_handlers(configured=CONFIGURED)
    ) as editor:
        assert await editor.call("authenticate", method(method_id)) == expected.invalid_params(
            2, "methodId: Input should be a valid string"
        )


@pytest.mark.parametrize("params", [None, {}])
async def test_a_logout_deletes_the_stored_key_and_the_sessions_survive(
    tmp_path: Path, params: JsonValue
) -> None:
    """Trap 18, ACP-AUTH."""
    store = KeyStore(tmp_path, use_keyring=False)
    store.save("sk-1")
    async with open_checked_editor(EchoModel(), auth=make_auth_handlers(tmp_path)) as editor:
        session = await editor.new_session()
        assert await editor.call("authenticate", method("api-key")) == expected.result_response(
            3, {}
        )
        assert await editor.call("logout", params) == expected.result_response(4, {})
        assert store.load() is None
        assert "error" in await editor.call("authenticate", method("api-key"))
        assert await editor.prompt(session, "hi") == expected.END_TURN


async def test_a_logout_without_a_login_is_still_answered() -> None:
    """Trap 18."""
    async with open_checked_editor(EchoModel()) as editor:
        for request_id in (2, 3):
            assert await editor.call("logout") == expected.result_response(request_id, {})


# The whole server.


@pytest.mark.parametrize("variables", [{}, {"ACP_SERVER_MODEL": "claude-opus-4-6"}])
async def test_without_a_key_a_prompt_that_needs_a_model_requires_signing_in(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    """Trap 19, ACP-AUTH: not before, not for a command; and it is said in the chat, too."""
    reason = (
        "no API key was found; set ANTHROPIC_API_KEY, or run `acp-server setup` in a terminal, "
        "then try again"
    )
    async with open_editor(make_configuration(tmp_path, environment=variables)) as editor:
        await editor.initialize()
        session = await editor.new_session()
        assert await editor.prompt(session, "/version") == expected.END_TURN
        answer = await editor.start_prompt(session, "hi").response()
        assert answer == expected.error_response(4, -32000, AUTHENTICATION_REQUIRED, reason)
        assert editor.agent_text(session).endswith(reason)


async def test_after_a_logout_a_configured_key_is_not_used_until_the_next_login(
    tmp_path: Path,
) -> None:
    """ACP-AUTH."""
    configuration = make_configuration(tmp_path, environment={"ANTHROPIC_API_KEY": "sk-configured"})
    async with open_editor(configuration) as editor:
        await editor.initialize()
        await editor.call("logout")
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "hi").response()
        assert isinstance(answer["error"], dict)
        assert answer["error"]["code"] == -32000
        assert await editor.call("authenticate", method("api-key")) == expected.result_response(
            5, {}
        )


async def test_a_server_for_a_foreign_provider_reports_it_and_never_requires_signing_in(
    tmp_path: Path,
) -> None:
    """Trap 19."""
    configuration = make_configuration(tmp_path, environment={"ACP_SERVER_PROVIDER": "teapot"})
    async with open_editor(configuration) as editor:
        await editor.initialize()
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "hi").response()
        reason = str(json_at(answer, "error", "data", "details"))
        assert answer == expected.error_response(3, -32603, "", reason, kind="unavailable")
        assert "know the configured provider 'teapot' (environment)" in reason
        # Once as soon as the session is open, and once as the answer.
        assert editor.agent_text(session).count(reason) == 2
