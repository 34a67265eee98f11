"""Answers as they arrive: the events, what they add up to, and what thinking and tools show."""

import json
from dataclasses import replace

import httpx2
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import (
    MessageParam,
    RawMessageStreamEvent,
    StopReason,
    ThinkingConfigParam,
    ToolParam,
)
from pydantic import JsonValue

from tests.messages_api.clients import (
    NEW,
    NEWEST,
    OLD,
    make_body,
    open_api_and_client,
    send,
    tool_result,
    tool_use,
    user,
)
from tests.support.messages_api import (
    KEY,
    VERSION,
    CallTool,
    MessagesServerConfig,
    ParsedRequest,
    ScriptedReply,
    ThinkRedacted,
    call,
    messages_api,
    reply,
    say,
    think,
)

HI: list[MessageParam] = [{"role": "user", "content": "hi"}]
SUMMARIZED: ThinkingConfigParam = {"type": "adaptive", "display": "summarized"}
EAGER: ToolParam = {
    "name": "write_file",
    "input_schema": {"type": "object"},
    "eager_input_streaming": True,
}
BUFFERED: ToolParam = {"name": "write_file", "input_schema": {"type": "object"}}


async def test_a_stream_equals_the_non_streaming_answer() -> None:
    script = [reply(think("So."), say("Grüße, 世界!"), call("read_file", path="a.py"))] * 2
    async with open_api_and_client(script) as (api, client):
        async with client.messages.stream(
            model=NEWEST, max_tokens=100, messages=HI, thinking=SUMMARIZED
        ) as stream:
            streamed = await stream.get_final_message()
        message = await client.messages.create(
            model=NEWEST, max_tokens=100, messages=HI, thinking=SUMMARIZED
        )

        thinking, words, tool = streamed.content
        assert thinking.type == "thinking"
        assert thinking.thinking == "So."
        assert words.type == "text"
        assert words.text == "Grüße, 世界!"
        assert tool.type == "tool_use"
        assert (tool.name, tool.input) == ("read_file", {"path": "a.py"})
        assert streamed.stop_reason == "tool_use"
        assert [each.type for each in message.content] == ["thinking", "text", "tool_use"]
        assert message.usage == streamed.usage
        assert api.model_requests[0].answer == streamed.model_dump(
            mode="json", exclude={"container", "diagnostics"}, exclude_unset=True
        )


async def test_the_event_sequence_matches_the_api() -> None:
    script = [reply(say("Hello, you!"), call("read_file"), chunk_characters=6)]
    async with messages_api(script) as api:
        assert await _events(api.url, make_body(stream=True)) == [
            ("message_start", ["message_start", "assistant", [], None, 1]),
            ("content_block_start", [0, {"type": "text", "text": ""}]),
            ("ping", []),
            ("content_block_delta", [0, {"type": "text_delta", "text": "Hello,"}]),
            ("content_block_delta", [0, {"type": "text_delta", "text": " you!"}]),
            ("content_block_stop", [0]),
            (
                "content_block_start",
                [
                    1,
                    {
                        "type": "tool_use",
                        "id": "toolu_01test000000000000000002",
                        "name": "read_file",
                        "caller": {"type": "direct"},
                        "input": {},
                    },
                ],
            ),
            ("content_block_delta", [1, {"type": "input_json_delta", "partial_json": ""}]),
            ("content_block_delta", [1, {"type": "input_json_delta", "partial_json": "{}"}]),
            ("content_block_stop", [1]),
            ("message_delta", ["tool_use", 6]),
            ("message_stop", []),
        ]


async def _events(url: str, body: dict[str, JsonValue]) -> list[tuple[str, list[JsonValue]]]:
    headers = {"x-api-key": KEY, "anthropic-version": VERSION}
    async with httpx2.AsyncClient() as client:
        response = await client.post(f"{url}/v1/messages", json=body, headers=headers)
    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    return [_parse_event(part) for part in response.text.split("\n\n") if part]


def _parse_event(part: str) -> tuple[str, list[JsonValue]]:
    name, data = part.split("\n")
    value = json.loads(data.removeprefix("data: "))
    assert name == f"event: {value['type']}"
    match value.pop("type"):
        case "message_start":
            message = value["message"]
            fields = [message["role"], message["content"], message["stop_reason"]]
            return "message_start", ["message_start", *fields, message["usage"]["output_tokens"]]
        case "message_delta":
            delta, usage = value["delta"], value["usage"]
            return "message_delta", [delta["stop_reason"], usage["output_tokens"]]
        case kind:
            return kind, list(value.values())


@pytest.mark.parametrize(
    ("model", "thinking", "shown"),
    [
        (NEWEST, None, [""]),
        (NEWEST, {"type": "adaptive"}, [""]),
        (NEWEST, {"type": "adaptive", "display": "summarized"}, ["Hm."]),
        (NEW, {"type": "disabled"}, []),
        ("claude-opus-4-8", None, []),
        ("claude-opus-4-6", {"type": "adaptive"}, ["Hm."]),
        ("claude-opus-4-6", {"type": "adaptive", "display": "omitted"}, [""]),
        (OLD, None, []),
        (OLD, {"type": "enabled", "budget_tokens": 1024}, ["Hm."]),
        ("claude-sonnet-5-5", {"type": "between_tools"}, []),
    ],
)
async def test_thinking_is_shown_according_to_model_and_request(
    model: str, thinking: JsonValue, shown: list[str]
) -> None:
    async with open_api_and_client([reply(think("Hm."), say("Yes."))]) as (_, client):
        answer = await send(client, make_body(model, thinking=thinking))

        assert [block.thinking for block in answer.content if block.type == "thinking"] == shown
        assert all(block.signature for block in answer.content if block.type == "thinking")


async def test_between_tool_calls_thinking_is_shown_only_after_results() -> None:
    body = make_body(
        "claude-sonnet-5-5",
        thinking={"type": "between_tools"},
        tools=[{"name": "read_file", "input_schema": {"type": "object"}}],
        messages=[user("hi"), {"role": "assistant", "content": [tool_use()]}, user(tool_result())],
    )
    async with open_api_and_client([reply(think("Next."), say("Yes."))]) as (_, client):
        answer = await send(client, body)

        assert [block.type for block in answer.content] == ["thinking", "text"]


async def test_redacted_thinking_is_sent_complete() -> None:
    async with open_api_and_client([reply(ThinkRedacted(), "Yes.")]) as (_, client):
        async with client.messages.stream(model=NEWEST, max_tokens=9, messages=HI) as stream:
            answer = await stream.get_final_message()

        assert [block.type for block in answer.content] == ["redacted_thinking", "text"]


async def test_arguments_are_streamed_key_by_key() -> None:
    tool_call = call("write_file", path="a.py", lines=["one", "two"])
    assert await _fragments(tool_call, BUFFERED) == [
        "",
        '{"path": "a.py"',
        ', "lines": ["one", "two"]',
        "}",
    ]


async def test_with_eager_input_streaming_arguments_are_streamed_as_generated() -> None:
    tool_call = call("write_file", path="a.py", text="one two")
    assert await _fragments(tool_call, EAGER) == ["", '{"path": "a.py",', ' "text": "one tw', 'o"}']


async def test_with_eager_input_streaming_arguments_may_be_truncated() -> None:
    tool_call = CallTool("write_file", {}, raw_arguments='{"path": "a.py", "te')
    assert await _fragments(tool_call, EAGER) == ["", '{"path": "a.py",', ' "te']


async def test_without_eager_input_streaming_arguments_are_never_truncated() -> None:
    tool_call = CallTool("write_file", {"path": "a.py"}, raw_arguments='{"path": "a')
    assert await _fragments(tool_call, BUFFERED) == ["", '{"path": "a.py"', "}"]


async def _fragments(tool_call: CallTool, tool: ToolParam) -> list[str]:
    async with open_api_and_client([reply(tool_call)]) as (_, client):
        events = [event async for event in await _stream(client, tool)]
        deltas = [event.delta for event in events if event.type == "content_block_delta"]
        return [delta.partial_json for delta in deltas if delta.type == "input_json_delta"]


async def _stream(client: AsyncAnthropic, tool: ToolParam):  # noqa: ANN202  the SDK's stream
    return await client.messages.create(
        model=NEWEST, max_tokens=100, messages=HI, tools=[tool], stream=True
    )


@pytest.mark.parametrize(
    "reason",
    ["end_turn", "max_tokens", "stop_sequence", "pause_turn", "model_context_window_exceeded"],
)
async def test_the_script_sets_the_stop_reason(reason: StopReason) -> None:
    async with open_api_and_client([reply("So", stop=reason, stop_sequence="!")]) as (_, client):
        async with client.messages.stream(model=NEWEST, max_tokens=9, messages=HI) as stream:
            answer = await stream.get_final_message()

        assert (answer.stop_reason, answer.stop_sequence) == (reason, "!")
        assert answer.stop_details is None


async def test_a_refusal_has_a_category() -> None:
    script = [reply(stop="refusal", refused_category="cyber")]
    async with open_api_and_client(script) as (_, client):
        async with client.messages.stream(model=NEWEST, max_tokens=9, messages=HI) as stream:
            answer = await stream.get_final_message()

        assert answer.content == []
        assert answer.stop_reason == "refusal"
        assert answer.stop_details is not None
        assert answer.stop_details.category == "cyber"


async def test_usage_increases_with_the_output() -> None:
    async with open_api_and_client([reply(think("t" * 400), say("w" * 40))]) as (api, client):
        stream = await client.messages.create(
            model=NEWEST, max_tokens=500, messages=HI, stream=True
        )
        events: list[RawMessageStreamEvent] = [event async for event in stream]

        start, end = events[0], events[-2]
        assert start.type == "message_start"
        assert start.message.usage.output_tokens == 1
        assert end.type == "message_delta"
        assert end.usage.output_tokens == 110
        assert end.usage.output_tokens_details is not None
        assert end.usage.output_tokens_details.thinking_tokens == 100
        usage = api.model_requests[0].usage
        assert usage is not None
        assert (usage.output, usage.input.uncached) == (110, start.message.usage.input_tokens)


async def test_a_script_may_be_a_function_of_the_request() -> None:
    def echo(ask: ParsedRequest) -> ScriptedReply:
        return reply(f"{ask.model_spec.id} heard {ask.last_text}")

    async with open_api_and_client(echo) as (_, client):
        for words in ("one", "two"):
            answer = await send(client, make_body(messages=[user(words)]))
            assert answer.content[0].to_dict()["text"] == f"claude-opus-5-5 heard {words}"


async def test_turns_are_played_in_order_and_can_be_added() -> None:
    async with open_api_and_client(["one", lambda ask: f"two {ask.effort}"]) as (api, client):
        api.add("three")
        messages = [await send(client, make_body()) for _ in range(3)]

        assert [each.content[0].to_dict()["text"] for each in messages] == [
            "one",
            "two medium",
            "three",
        ]
        assert api.remaining_turns == 0


async def test_a_request_with_zero_max_tokens_fills_the_cache_and_plays_no_turn() -> None:
    async with open_api_and_client(["one"]) as (api, client):
        answer = await client.messages.create(
            model=NEWEST,
            max_tokens=0,
            messages=HI,
            system=[{"type": "text", "text": "x" * 4_000, "cache_control": {"type": "ephemeral"}}],
        )

        assert (answer.content, answer.stop_reason) == ([], "max_tokens")
        assert answer.usage.cache_creation_input_tokens == 1_007
        assert api.remaining_turns == 1


async def test_tokens_can_be_counted_without_an_answer() -> None:
    endpoint = replace(MessagesServerConfig(), keys=frozenset({KEY, "other"}))
    async with open_api_and_client(["one"], endpoint) as (api, client):
        counted = await client.messages.count_tokens(model=NEWEST, messages=HI, system="Be brief.")
        answer = await client.messages.create(
            model=NEWEST, max_tokens=9, messages=HI, system="Be brief."
        )

        assert counted.input_tokens == answer.usage.input_tokens
        assert [each.path for each in api.model_requests] == ["/v1/messages"]
