"""Answers that stop early, from endpoints of all three API forms."""

from pathlib import Path

import pytest

from acp_server.config.credentials import CredentialProvider, KeyStore
from acp_server.models.access import EndpointAccess
from acp_server.models.endpoint_catalog import EndpointCatalog, EndpointConfig
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.written_calls import WrittenCallModel
from acp_server.turn.continuation import (
    CALL_THROUGH_INTERFACE,
    SAID_NOTHING,
)
from tests.anthropic_model.model_session import (
    MODEL,
    ModelSessionConfig,
    check_history,
    make_loader,
    make_provider_adapter,
    open_model_session,
)
from tests.model_contract.api_forms import FORMS, serve_form
from tests.support.messages_api import CallTool, ScriptedReply, call, reply, say, think

CUT = CallTool("note", {}, raw_arguments='{"text": "a long te')


@pytest.mark.parametrize("form", FORMS)
async def test_a_cut_text_goes_on_in_the_same_message(tmp_path: Path, form: str) -> None:
    script = [reply(think("Hm."), "One, ", stop="max_tokens"), reply(think("Hm."), "two.")]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert session.agent_text() == "One, two."
        assert len(session.message_ids()) == 1
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * 2
        check_history(session.history())


@pytest.mark.parametrize("form", FORMS)
async def test_a_cut_call_has_a_result_and_whole_calls_before_it_run(
    tmp_path: Path, form: str
) -> None:
    cut = ScriptedReply((think("Hm."), call("look", text="a"), CUT), stop_reason="max_tokens")
    script = [cut, reply(call("note", text="short")), "Done."]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert [run.name for run in session.tools.target_subcommands] == ["look", "note"]
        assert "cut at the output limit after 19 characters" in str(api.model_requests[1].body)
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * 3
        check_history(session.history())


@pytest.mark.parametrize("form", FORMS)
async def test_an_empty_answer_is_questioned_once_and_then_reported(
    tmp_path: Path, form: str
) -> None:
    script = [reply(), "Hello.", reply(think("Hm.")), reply(say(" "))]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert session.agent_text() == "Hello."
        assert await session.prompt("more") == "end_turn"
        assert session.agent_text().endswith(SAID_NOTHING)
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * 4
        check_history(session.history())


@pytest.mark.parametrize("form", FORMS)
async def test_a_call_written_as_text_is_asked_for_once_through_the_interface(
    tmp_path: Path, form: str
) -> None:
    written = '<tool_call>{"name": "note", "arguments": {"text": "a"}}</tool_call>'
    script = [written, reply(call("note", text="a")), written]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert [run.name for run in session.tools.target_subcommands] == ["note"]
        assert CALL_THROUGH_INTERFACE in str(api.model_requests[1].body)
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * 3
        check_history(session.history())


async def test_at_the_address_of_anthropic_text_is_never_taken_for_a_call(tmp_path: Path) -> None:
    for base_url, is_wrapped in (
        (None, False),
        ("https://api.anthropic.com/", False),
        ("https://gateway.example/anthropic", True),
        ("https://api.anthropic.com.example", True),
    ):
        config = EndpointConfig(
            EndpointAccess(base_url), MODEL, RetryPolicy(), tmp_path / "models.json"
        )
        catalog = EndpointCatalog(
            config,
            make_provider_adapter("messages"),
            CredentialProvider(None, KeyStore(tmp_path, use_keyring=False)).current,
            make_loader("messages", ModelSessionConfig()),
        )
        assert isinstance(catalog.model(MODEL), WrittenCallModel) == is_wrapped, base_url
