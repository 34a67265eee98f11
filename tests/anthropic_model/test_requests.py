"""What is sent: the body of a Messages call for each family, and over a whole session."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.models.anthropic.request import EMPTY_TEXT, build_request_body, new_rejected_fields
from acp_server.models.families import family_for
from acp_server.models.rejected_fields import RejectedFields
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    parse_arguments,
)
from acp_server.turn.ports import ModelRequest
from prompt_engine.cache_control import add_cache_breakpoints
from tests.anthropic_model.model_session import (
    MODEL,
    ModelSessionConfig,
    NoteAndLookTools,
    open_model_session,
)
from tests.support.case_table import each_case
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    MessagesServerConfig,
    ThinkRedacted,
    bad_request,
    call,
    messages_api,
    reply,
    say,
    think,
)

SAMPLING = {"temperature", "top_p", "top_k"}
MARK: JsonValue = {"type": "ephemeral"}
ADAPTIVE: JsonValue = {"type": "adaptive", "display": "summarized"}
FAMILIES: dict[str, tuple[str, str | None, Object]] = {
    "newest": (
        "claude-fable-5-2",
        "xhigh",
        {"max_tokens": 128_000, "thinking": ADAPTIVE, "output_config": {"effort": "xhigh"}},
    ),
    "newest, its own level": (
        "claude-opus-5-5",
        None,
        {"max_tokens": 128_000, "thinking": ADAPTIVE, "output_config": {"effort": "medium"}},
    ),
    "newest, off": (
        "claude-sonnet-5-5",
        "off",
        {"max_tokens": 128_000, "thinking": {"type": "between_tools"}},
    ),
    "four efforts": (
        "claude-opus-4-6",
        "xhigh",
        {"max_tokens": 128_000, "thinking": ADAPTIVE, "output_config": {"effort": "high"}},
    ),
    "budget": (
        "claude-haiku-4-5",
        "high",
        {"max_tokens": 64_000, "thinking": {"type": "enabled", "budget_tokens": 16_000}},
    ),
    "budget, off": (
        "claude-haiku-4-5",
        "off",
        {"max_tokens": 64_000, "thinking": {"type": "disabled"}},
    ),
    "no thinking": ("claude-3-5-haiku", "high", {"max_tokens": 8_192}),
    "unknown": ("some-gateway-model", "high", {"max_tokens": 8_192}),
}


def body_of(
    *messages: Message,
    model: str = MODEL,
    level: str | None = None,
    omit: RejectedFields | None = None,
) -> Object:
    """Return the body for a conversation."""
    request = ModelRequest(messages, "Be kind.", tuple(NoteAndLookTools().specs), level)
    return build_request_body(
        request, family_for(model), omit or new_rejected_fields(), add_cache_breakpoints
    )


def content_of(*messages: Message) -> list[JsonValue]:
    """Return the content of each message, without marks."""
    sent = unmark(body_of(*messages)["messages"])
    assert isinstance(sent, list)
    return [json_at(message, "content") for message in sent]


def unmark(value: JsonValue) -> JsonValue:
    """Return JSON without `cache_control`."""
    if isinstance(value, list):
        return [unmark(item) for item in value]
    if isinstance(value, dict):
        return {name: unmark(item) for name, item in value.items() if name != "cache_control"}
    return value


@each_case("name", FAMILIES)
def test_the_request_body_of_each_family_matches_exactly(name: str) -> None:
    model, level, family_fields = FAMILIES[name]
    schema: JsonValue = {"type": "object", "properties": {"text": {"type": "string"}}}
    assert body_of(UserMessage((Text("Hi"),)), model=model, level=level) == {
        "system": [{"type": "text", "text": "Be kind.", "cache_control": MARK}],
        "messages": [
            {
                "role": "user",
                "content": [{"type": "text", "text": "Hi", "cache_control": MARK}],
            }
        ],
        "tools": [
            {
                "name": "note",
                "description": "Writes something down.",
                "input_schema": schema,
                "eager_input_streaming": True,
            },
            {"name": "look", "description": "Looks something up.", "input_schema": schema},
        ],
        **family_fields,
    }


@pytest.mark.parametrize("name", FAMILIES)
async def test_the_endpoint_accepts_the_request_body_of_each_family(
    tmp_path: Path, name: str
) -> None:
    model, level, _ = FAMILIES[name]
    if model in {"claude-3-5-haiku", "some-gateway-model"}:
        pytest.skip("the test server has no such model")
    async with (
        messages_api(["Hello."]) as api,
        open_model_session(api, tmp_path, ModelSessionConfig(model=model)) as session,
    ):
        if level is not None:
            session.session.context.options.set_option(
                "thought_level", level if level != "xhigh" else "high"
            )
        assert await session.prompt() == "end_turn"
        assert not SAMPLING & set(api.model_requests[0].body)


@pytest.mark.parametrize("level", ["low", "medium", "high"])
def test_max_tokens_exceeds_the_thinking_budget(level: str) -> None:
    for model in ("claude-haiku-4-5", "claude-opus-4-1", "claude-3-7-sonnet"):
        body = body_of(UserMessage((Text("Hi"),)), model=model, level=level)
        limit, budget = body["max_tokens"], json_at(body["thinking"], "budget_tokens")
        assert isinstance(limit, int)
        assert isinstance(budget, int)
        assert limit > budget


def test_max_tokens_exceeds_the_thinking_budget_even_in_a_full_context_window() -> None:
    prompt = UserMessage((Text("x" * 480_000),))
    for model in ("claude-haiku-4-5", "claude-opus-4-1"):
        body = body_of(prompt, model=model, level="high")
        limit = body["max_tokens"]
        assert isinstance(limit, int)
        thinking = body["thinking"]
        assert isinstance(thinking, dict)
        budget = thinking.get("budget_tokens", 0)
        assert isinstance(budget, int)
        assert limit > budget, (limit, budget)
        assert not budget or budget >= 1024


def test_the_same_request_serializes_to_the_same_bytes() -> None:
    answer = AssistantMessage(
        (
            Thinking("Hm.", "signature"),
            Text("I look."),
            ToolCall("c1", "look", '{"b": 1, "a": "ü"}'),
        )
    )
    messages = (UserMessage((Text("Hi"),)), answer, UserMessage((ToolResult("c1", "found"),)))
    assert json.dumps(body_of(*messages)) == json.dumps(body_of(*messages))
    assert '{"b": 1, "a": ' in json.dumps(body_of(*messages)), "keys stay in their order"


def test_parts_that_cannot_be_sent_back_are_omitted() -> None:
    answer = AssistantMessage(
        (Thinking("unsigned"), RedactedThinking("opaque"), Thinking("", "signature"), Text(" \n"))
    )
    assert content_of(UserMessage((Text("Hi"),)), answer)[1] == [
        {"type": "redacted_thinking", "data": "opaque"},
        {"type": "thinking", "thinking": "", "signature": "signature"},
    ]


def test_a_message_without_sendable_parts_is_not_empty() -> None:
    answer = AssistantMessage((Thinking("unsigned"), Text(" ")))
    nothing: JsonValue = [{"type": "text", "text": EMPTY_TEXT}]
    assert content_of(UserMessage((Text("\n"),)), answer) == [nothing, nothing]


@pytest.mark.parametrize("arguments", ['{"text": "a', "[1]", "null", "nonsense", "{} {}"])
def test_malformed_arguments_are_sent_as_an_empty_object(arguments: str) -> None:
    answer = AssistantMessage((ToolCall("c1", "look", arguments),))
    sent = content_of(UserMessage((Text("Hi"),)), answer)[1]
    assert sent == [{"type": "tool_use", "id": "c1", "name": "look", "input": {}}]


def test_an_empty_result_is_labelled_and_a_failure_is_marked_as_an_error() -> None:
    results = UserMessage((ToolResult("c1", ""), ToolResult("c2", "no", is_error=True)))
    assert content_of(results)[0] == [
        {"type": "tool_result", "tool_use_id": "c1", "content": EMPTY_TEXT},
        {"type": "tool_result", "tool_use_id": "c2", "content": "no", "is_error": True},
    ]


async def test_a_session_only_appends_to_what_it_has_sent(tmp_path: Path) -> None:
    script = [
        reply(think("Hm."), say("I look."), call("look", text="a"), call("note", text="b")),
        reply(ThinkRedacted(), say("And again."), call("look", text="c")),
        reply(think("So."), say("Done.")),
        "Thank you.",
        reply(say("Well."), call("none")),
        "That failed.",
    ]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        for text in ("one", "two", "three"):
            assert await session.prompt(text) == "end_turn"
        bodies = [ask.body for ask in api.model_requests]
    assert len(bodies) == 6
    for earlier, later in pairwise(bodies):
        before, after = unmark(earlier["messages"]), unmark(later["messages"])
        assert isinstance(before, list)
        assert isinstance(after, list)
        assert json.dumps(after[: len(before)]) == json.dumps(before)
        for name in earlier.keys() - {"messages", "max_tokens"}:
            assert json.dumps(earlier[name]) == json.dumps(later[name])
    assert json.dumps(bodies[-1]).count("cache_control") == 4


@pytest.mark.parametrize(
    ("field", "endpoint"),
    [
        ("eager_input_streaming", MessagesServerConfig(takes_eager_input_streaming=False)),
        ("cache_control", MessagesServerConfig(takes_cache_control=False)),
    ],
)
async def test_a_field_rejected_by_a_gateway_is_omitted_from_then_on(
    tmp_path: Path, field: str, endpoint: MessagesServerConfig
) -> None:
    async with (
        messages_api(["One.", "Two."], endpoint) as api,
        open_model_session(api, tmp_path) as session,
    ):
        assert await session.prompt("one") == "end_turn"
        assert await session.prompt("two") == "end_turn"
        assert [field in json.dumps(ask.body) for ask in api.model_requests] == [True, False, False]
        assert [ask.verdict for ask in api.model_requests] == ["refused", "answered", "answered"]
        assert session.agent_text() == "One.Two."
        assert session.notices() == []


@pytest.mark.parametrize("field", ["display", "output_config", "thinking"])
async def test_a_field_named_in_an_error_message_is_omitted(tmp_path: Path, field: str) -> None:
    script = [bad_request(f"{field}: Extra inputs are not permitted"), "One.", "Two."]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt("one") == "end_turn"
        assert await session.prompt("two") == "end_turn"
        assert [f'"{field}"' in json.dumps(ask.body) for ask in api.model_requests] == [
            True,
            False,
            False,
        ]


async def test_a_gateway_that_still_rejects_the_request_is_retried_once_without_the_fields(
    tmp_path: Path,
) -> None:
    refusal = bad_request("thinking: we do not like it")
    async with (
        messages_api([refusal, refusal]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        data = await session.prompt_expecting_error()
        assert "we do not like it" in str(data["details"])
        assert len(api.model_requests) == 2


def test_a_message_that_was_sent_before_is_not_built_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A conversation is sent whole with every request: only what is new may cost time."""
    parsed: list[ToolCall] = []

    def parse(call: ToolCall) -> dict[str, JsonValue]:
        parsed.append(call)
        return parse_arguments(call)

    monkeypatch.setattr("acp_server.models.anthropic.request.parse_arguments", parse)
    conversation: list[Message] = []
    for number in range(5):
        call = ToolCall(f"call {number}", "look", f'{{"at": {number}}}')
        results = UserMessage((ToolResult(call.id, "seen"),))
        conversation += (UserMessage((Text("Hi"),)), AssistantMessage((call,)), results)
        assert len(content_of(*conversation)) == len(conversation)
    assert [call.id for call in parsed] == [f"call {number}" for number in range(5)]
    # Marks are put on copies: the first message, marked at first, is sent without one later.
    first = json_at(body_of(*conversation), "messages", 0)
    assert first == {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
