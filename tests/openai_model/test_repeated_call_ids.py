"""Endpoints that number their tool calls anew in each answer, or leave their ids empty."""

import sys
from pathlib import Path

import pytest

from acp_server.turn.conversation import (
    AssistantMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.anthropic_model.model_session import check_history, open_model_session
from tests.model_contract.api_forms import serve_form
from tests.openai_model.test_main_job import FORMS, HOME, endpoint_of
from tests.support.editor import json_at
from tests.support.messages_api import CallTool, ScriptedTurn, reply
from tests.support.server_process import start_server

IDS = {
    "the same id in each answer": [("call_0",), ("call_0",), ("call_0",)],
    "no ids": [("",), ("", ""), ("",)],
    "the same ids for two calls": [("call_0", "call_1"), ("call_0", "call_1"), ("call_1",)],
}


def calls(ids: tuple[str, ...]) -> ScriptedTurn:
    """Return a reply that reads a file once for each id."""
    return reply(*(CallTool("read_file", {"path": "a.txt"}, id=each) for each in ids))


@pytest.mark.parametrize(
    ("ids", "form"),
    [
        pytest.param(ids, form, marks=[] if is_short else [pytest.mark.full])
        for number, ids in enumerate(IDS)
        for place, form in enumerate(FORMS)
        # The ids are made unique for all forms alike: these take turns.
        for is_short in [(number + place) % 3 == 0]
    ],
)
def test_every_call_gets_an_id_of_its_own_and_later_requests_are_accepted(
    tmp_path: Path, form: str, ids: str
) -> None:
    (tmp_path / "a.txt").write_text("the text\n")
    home = tmp_path / "home"
    home.mkdir()
    script = [*map(calls, IDS[ids]), "Done.", "And on."]
    with endpoint_of(form, script) as api:
        (home / "config.yaml").write_text(HOME.format(url=api.url, **FORMS[form]))
        with start_server(home, command=[sys.executable, "-m", "acp_server"]) as server:
            server.initialize()
            session = server.new_session(str(tmp_path))
            for _ in range(2):
                answer = server.prompt(session, "read it")
                assert json_at(answer, "result", "stopReason") == "end_turn", answer
            messages = list(server.messages)
        assert [ask.verdict for ask in api.model_requests] == ["answered"] * 5
    updates = [json_at(each, "params", "update") for each in messages if "params" in each]
    shown = [
        json_at(each, "toolCallId")
        for each in updates
        if isinstance(each, dict) and each.get("sessionUpdate") == "tool_call"
    ]
    assert len(shown) == sum(map(len, IDS[ids]))
    assert len(set(shown)) == len(shown)
    assert all(shown)


@pytest.mark.parametrize("form", FORMS)
async def test_a_stored_conversation_with_repeated_ids_is_sent_validly(
    tmp_path: Path, form: str
) -> None:
    async with (
        serve_form(form, ["One.", "Two."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        conversation = session.session.context.conversation
        for ids in (("c",), ("", ""), ("c",)):
            conversation.append(UserMessage((Text("go"),)))
            found = tuple(ToolCall(each, "look", "{}") for each in ids)
            conversation.append(AssistantMessage(found))
            results = (ToolResult(each, f"result {n}") for n, each in enumerate(ids))
            conversation.append(UserMessage(tuple(results)))
            conversation.append(AssistantMessage((Text("ok"),)))
        stored = session.history()
        assert await session.prompt() == "end_turn"
        assert await session.prompt() == "end_turn"
        assert [ask.verdict for ask in api.model_requests] == ["answered", "answered"]
        first, second = (ask.body for ask in api.model_requests)
        name = "input" if form == "responses" else "messages"
        sent, sent_later = first[name], second[name]
        assert isinstance(sent, list)
        assert isinstance(sent_later, list)
        if form != "messages":  # whose cache markers move
            assert sent_later[: len(sent)] == sent
        assert session.history()[: len(stored)] == stored
        check_history(session.history())
