"""Whatever is sent is answered or refused, and an answer sent back is taken."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from tests.messages_api.clients import TOOL, Object, assistant, make_body, tool_result, user
from tests.support.case_table import each_case
from tests.support.messages_api import (
    KEY,
    MODEL_SPECS,
    VERSION,
    MessagesServerConfig,
    ParsedRequest,
    ScriptedReply,
    ThinkRedacted,
    call,
    reply,
    say,
    think,
)
from tests.support.messages_api.records import HttpRequest
from tests.support.messages_api.service import MessagesService

HEADERS = {"x-api-key": KEY, "anthropic-version": VERSION}

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)
FIELDS = [
    "model",
    "max_tokens",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
    "cache_control",
    "stream",
]
TYPES = [
    "text",
    "image",
    "document",
    "search_result",
    "thinking",
    "redacted_thinking",
    "tool_use",
    "tool_result",
]
PARTS = [
    "text",
    "id",
    "name",
    "input",
    "tool_use_id",
    "content",
    "thinking",
    "signature",
    "data",
    "source",
    "cache_control",
]

some_text = st.sampled_from(["", " ", "a", "toolu_1", "read_file", "ephemeral"])
blocks = st.dictionaries(st.sampled_from(PARTS), some_text | anything, max_size=4).flatmap(
    lambda block: st.sampled_from(TYPES).map(lambda kind: {**block, "type": kind})
)
messages = st.fixed_dictionaries(
    {
        "role": st.sampled_from(["user", "assistant", "system", "tool"]),
        "content": some_text | st.lists(blocks, max_size=3),
    }
)


def _answer(_: ParsedRequest) -> ScriptedReply:
    return reply(think("Hm."), ThinkRedacted(), say("Well."), call("read_file", path="a.py"))


def _status(service: MessagesService, body: object) -> int | None:
    data = json.dumps(body).encode()
    answer, _ = service.respond(HttpRequest("POST", "/v1/messages", HEADERS, data))
    return answer.status


@given(st.dictionaries(st.sampled_from(FIELDS), anything))
def test_arbitrary_fields_are_answered_or_refused(fields: dict[str, object]) -> None:
    assert _status(MessagesService(_answer, MessagesServerConfig()), {**make_body(), **fields}) in {
        200,
        400,
        404,
    }


@given(st.lists(messages, max_size=4))
def test_arbitrary_conversations_are_answered_or_refused(talk: list[dict[str, object]]) -> None:
    body = {**make_body(), "tools": [TOOL], "messages": talk}
    assert _status(MessagesService(_answer, MessagesServerConfig()), body) in {200, 400}


@pytest.mark.parametrize("depth", [50, 200, 400, 900])
def test_deeply_nested_values_are_answered_or_refused(depth: int) -> None:
    deep: JsonValue = "a"
    for _ in range(depth):
        deep = [deep]
    use: JsonValue = {"type": "tool_use", "id": "a", "name": "read_file", "input": {"a": deep}}
    body = make_body(tools=[TOOL], messages=[user("a"), assistant(use), user(tool_result("a"))])

    assert _status(MessagesService(_answer, MessagesServerConfig()), body) in {200, 400}


@each_case("model", [family.id for family in MODEL_SPECS if family.lifecycle == "active"])
def test_every_model_accepts_its_own_answers_in_later_requests(model: str) -> None:
    service = MessagesService(_answer, MessagesServerConfig())
    history: list[JsonValue] = [user("hi")]
    for _ in range(4):
        assert _status(service, make_body(model, tools=[TOOL], messages=history)) == 200
        content = (service.requests[-1].answer or {})["content"]
        assert isinstance(content, list)
        called = cast("Object", content[-1])
        history += [assistant(*content), user(tool_result(cast("str", called["id"])))]
