"""Answers that stop early, from endpoints of all three API forms."""

from pathlib import Path

import pytest

from acp_server.turn.continuation import SAID_NOTHING
from tests.anthropic_model.model_session import check_history, open_model_session
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
