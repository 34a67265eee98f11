"""What the server refuses of a web search that comes back."""

import pytest
from pydantic import JsonValue

from tests.messages_api.clients import Object, assistant, get_refusal, make_body, user
from tests.support.messages_api.rules.web_search import encrypted_content

SEARCH: Object = {"type": "web_search_20250305", "name": "web_search", "max_uses": 3}
CALL: Object = {
    "type": "server_tool_use",
    "id": "srvtoolu_1",
    "name": "web_search",
    "input": {"query": "a"},
}
URL = "https://a.example/"


def found(content: str = encrypted_content(URL), call_id: str = "srvtoolu_1") -> Object:
    page: Object = {
        "type": "web_search_result",
        "title": "A",
        "url": URL,
        "encrypted_content": content,
    }
    return {"type": "web_search_tool_result", "tool_use_id": call_id, "content": [page]}


def cited(data: str = encrypted_content(URL)) -> Object:
    citation: Object = {"type": "web_search_result_location", "url": URL, "encrypted_index": data}
    return {"type": "text", "text": "So.", "citations": [citation]}


def failed(code: str) -> Object:
    content: Object = {"type": "web_search_tool_result_error", "error_code": code}
    return {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": content}


TAKEN: dict[str, list[JsonValue]] = {
    "a call and its result": [CALL, found()],
    "a failure": [CALL, failed("unavailable")],
    "with sources": [CALL, found(), cited()],
}
REFUSED: dict[str, tuple[list[JsonValue], str]] = {
    "a call without its result": ([CALL], "without a corresponding"),
    "a result without its call": ([found()], "unexpected `tool_use_id`"),
    "a result before its call": ([found(), CALL], "unexpected `tool_use_id`"),
    "a result of another call": ([CALL, found(call_id="srvtoolu_2")], "unexpected `tool_use_id`"),
    "two results": ([CALL, found(), found()], "unexpected `tool_use_id`"),
    "a changed result": ([CALL, found("encrypted-x")], "Invalid encrypted_content"),
    "a changed source": ([CALL, found(), cited("encrypted-x")], "Invalid encrypted_index"),
    "an unknown failure": ([CALL, failed("tired")], "Input should be"),
}


@pytest.mark.parametrize("content", TAKEN.values(), ids=TAKEN.keys())
async def test_a_search_is_accepted_when_sent_back(content: list[JsonValue]) -> None:
    messages: list[JsonValue] = [user("a"), assistant(*content), user("b")]
    assert await get_refusal(make_body(messages=messages, tools=[SEARCH])) is None


@pytest.mark.parametrize(("content", "shown"), REFUSED.values(), ids=REFUSED.keys())
async def test_an_altered_search_is_refused(content: list[JsonValue], shown: str) -> None:
    messages: list[JsonValue] = [user("a"), assistant(*content), user("b")]
    assert shown in str(await get_refusal(make_body(messages=messages, tools=[SEARCH])))


async def test_a_search_requires_its_tool_and_the_assistant_role() -> None:
    messages: list[JsonValue] = [user("a"), assistant(CALL, found()), user("b")]
    assert "needs the tool" in str(await get_refusal(make_body(messages=messages)))
    messages = [user("a"), assistant("b"), user(CALL, found())]
    refusal = await get_refusal(make_body(messages=messages, tools=[SEARCH]))
    assert "may only be of the assistant" in str(refusal)
