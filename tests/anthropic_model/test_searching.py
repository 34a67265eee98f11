"""The provider's own web search: shown as calls, kept, and sent back exactly as it came."""

from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import JsonValue

from acp_server.models.anthropic.server_tools import drop_unsendable_blocks
from acp_server.turn.conversation import AssistantMessage, ProviderBlock
from tests.anthropic_model.model_session import ModelSession, ModelSessionConfig, open_model_session
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    CutAfterEvents,
    FakeApiServer,
    HoldUntilGate,
    ResponseGate,
    messages_api,
    reply,
    say,
    think,
)
from tests.support.messages_api.script import Cite, SearchCall, SearchResult
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SEARCHING = ModelSessionConfig(searches_web=True)
CALL = SearchCall("srvtoolu_1", "how tall is it")
FOUND = SearchResult("srvtoolu_1", (("A [page]", "https://a.example/"), ("B", "https://b.example")))
CITED = Cite("It is tall.", "A page", "https://a.example/")


def search_updates(session: ModelSession) -> list[Object]:
    """Return what the editor was told of the search, update by update."""
    updates = (
        json_at(each, "params", "update") for each in session.editor.messages if "params" in each
    )
    found = [cast("Object", each) for each in updates if isinstance(each, dict)]
    return [each for each in found if str(each.get("toolCallId")).startswith("srvtoolu_")]


def sent_answer(api: FakeApiServer, number: int) -> list[Object]:
    """Return the content of the last answer that a request sends back."""
    messages = cast("list[Object]", api.model_requests[number].body["messages"])
    answers = [each for each in messages if each["role"] == "assistant"]
    return cast("list[Object]", answers[-1]["content"])


def kinds(blocks: list[Object]) -> list[JsonValue]:
    return [block["type"] for block in blocks]


async def test_a_search_is_shown_as_a_tool_call_and_sent_back_unchanged(tmp_path: Path) -> None:
    script = [reply(think("Hm."), CALL, FOUND, CITED, say(" Really.")), "Yes."]
    async with messages_api(script) as api, open_model_session(api, tmp_path, SEARCHING) as session:
        assert await session.prompt() == "end_turn"
        assert await session.prompt("sure?") == "end_turn"
    assert [ask.verdict for ask in api.model_requests] == ["answered", "answered"]
    back = sent_answer(api, 1)
    assert kinds(back) == [
        "thinking",
        "server_tool_use",
        "web_search_tool_result",
        "text",
        "text",
    ]
    assert back[1]["input"] == {"query": "how tall is it"}
    assert json_at(back[3], "citations", 0, "url") == "https://a.example/"
    first, *_, last = search_updates(session)
    assert (first["title"], first["kind"]) == ("Search the web: how tall is it", "fetch")
    assert last["status"] == "completed"
    shown = json_at(last, "content", 0, "content", "text")
    assert shown == "- [A (page)](https://a.example/)\n- [B](https://b.example)"


async def test_a_failed_search_is_shown_as_failed(tmp_path: Path) -> None:
    failed = SearchResult("srvtoolu_1", error="max_uses_exceeded")
    script = [reply(CALL, failed, say("I could not look.")), "And on."]
    async with messages_api(script) as api, open_model_session(api, tmp_path, SEARCHING) as session:
        await session.prompt()
        assert await session.prompt("more") == "end_turn"
    assert search_updates(session)[-1]["status"] == "failed"
    assert [ask.verdict for ask in api.model_requests] == ["answered", "answered"]


async def test_a_paused_search_is_continued(tmp_path: Path) -> None:
    script = [reply(think("Hm."), CALL, stop="pause_turn"), reply(FOUND, CITED), "And on."]
    async with messages_api(script) as api, open_model_session(api, tmp_path, SEARCHING) as session:
        assert await session.prompt() == "end_turn"
        assert await session.prompt("more") == "end_turn"
    assert [ask.verdict for ask in api.model_requests] == ["answered"] * 3
    assert search_updates(session)[-1]["status"] == "completed"


@pytest.mark.parametrize("searches_web", [True, False])
async def test_the_search_tool_is_offered_only_if_the_settings_enable_it(
    tmp_path: Path, *, searches_web: bool
) -> None:
    rules = ModelSessionConfig(searches_web=searches_web)
    async with messages_api(["Hello."]) as api, open_model_session(api, tmp_path, rules) as session:
        await session.prompt()
    tools = cast("list[Object]", api.model_requests[0].body["tools"])
    offered = [tool for tool in tools if tool.get("type") == "web_search_20250305"]
    assert offered == (tools[-1:] if searches_web else [])


async def test_a_truncated_search_is_not_sent_back(tmp_path: Path) -> None:
    paused = reply(think("Hm."), CALL, FOUND, say("x"), faults=[HoldUntilGate(11, ResponseGate())])
    async with (
        messages_api([paused, "And on."]) as api,
        open_model_session(api, tmp_path, SEARCHING) as session,
    ):
        pending = session.start_prompt()
        await session.wait_until_translated(11)
        session.cancel()
        assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        assert await session.prompt("more") == "end_turn"
    assert api.model_requests[-1].verdict == "answered"
    assert search_updates(session)[-1]["status"] == "failed"


@pytest.mark.parametrize(
    "events",
    [
        # each block has two events or more, so that the suite breaks in each
        pytest.param(number, marks=[pytest.mark.full] if number % 2 else [])
        for number in range(2, 16)
    ],
)
async def test_a_stream_that_breaks_anywhere_leaves_a_conversation_that_is_accepted(
    tmp_path: Path, events: int
) -> None:
    cut = reply(think("Hm."), CALL, FOUND, CITED, faults=[CutAfterEvents(events)])
    script = [cut, "And on.", "And on.", "And on."]
    async with messages_api(script) as api, open_model_session(api, tmp_path, SEARCHING) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await session.prompt()
            await session.prompt("more")
    assert {ask.verdict for ask in api.model_requests[1:]} == {"answered"}
    statuses = [each["status"] for each in search_updates(session) if "status" in each]
    assert statuses == [] or statuses[-1] in {"failed", "completed"}


async def test_searches_are_dropped_from_the_conversation_without_the_search_tool() -> None:
    cited = ProviderBlock({"type": "text", "text": "So.", "citations": []}, "So.")
    call = ProviderBlock({"type": "server_tool_use", "id": "1"}, called_id="1")
    result = ProviderBlock({"type": "web_search_tool_result"}, answered_id="1")
    message = AssistantMessage((call, result, cited))
    assert drop_unsendable_blocks([message, AssistantMessage(())], has_tools=True)[0] == message
    (plain,) = drop_unsendable_blocks([message], has_tools=False)
    assert [getattr(part, "text", None) for part in plain.parts] == ["So."]
