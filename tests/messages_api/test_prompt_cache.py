"""What the prompt cache reads, writes and leaves to be paid in full."""

from collections.abc import Mapping

import anthropic
import anyio
import pytest
from pydantic import JsonValue

from tests.messages_api.clients import (
    NEW,
    NEWEST,
    OLD,
    TOOL,
    Object,
    SdkConversation,
    assistant,
    cache_control_field,
    make_body,
    open_api_and_client,
    send,
    text,
    tool_result,
    tool_use,
    user,
)
from tests.support.messages_api import (
    InputUsage,
    MessagesServerConfig,
    ResponseGate,
    call,
    reply,
    think,
)

LONG = "x" * 4_000
"""A text of 1,000 tokens."""

BRIEF = 8
"""The tokens of a block with a letter or two for a text, whoever says it."""


async def _usages(
    *bodies: Mapping[str, JsonValue], endpoint: MessagesServerConfig | None = None
) -> list[tuple[int, int, int]]:
    """Return what requests read, wrote and paid in full, one after the other."""
    async with open_api_and_client(lambda _: "ok", endpoint) as (api, client):
        for body in bodies:
            await send(client, body)
        return [_of(request.usage.input) for request in api.model_requests if request.usage]


def _of(usage: InputUsage) -> tuple[int, int, int]:
    return usage.read, usage.written, usage.uncached


def _body(
    *, words: str = LONG, mark: bool = True, model: str = NEWEST, messages: JsonValue = None
) -> Object:
    block = text(words, **(cache_control_field() if mark else {}))
    return make_body(model, system=[block], messages=messages or [user("hi")])


async def test_a_prefix_is_written_once_and_then_read() -> None:
    assert await _usages(_body(), _body()) == [(0, 1_007, BRIEF), (1_007, 0, BRIEF)]


async def test_without_a_cache_marker_nothing_is_cached() -> None:
    assert await _usages(_body(mark=False), _body(mark=False)) == [(0, 0, 1_007 + BRIEF)] * 2


async def test_input_after_the_last_cache_marker_is_paid_in_full() -> None:
    bodies = [_body(messages=[user(words)]) for words in ("a", "b" * 401)]

    assert await _usages(*bodies) == [(0, 1_007, BRIEF), (1_007, 0, BRIEF + 100)]


async def test_a_changed_prefix_is_written_again() -> None:
    assert await _usages(_body(), _body(words="y" + LONG[1:])) == [(0, 1_007, BRIEF)] * 2


async def test_cache_markers_are_not_part_of_the_prefix() -> None:
    tool: Object = {**TOOL, "description": LONG}
    first = make_body(tools=[tool], system=[text("a", **cache_control_field())])
    second = make_body(
        tools=[{**tool, **cache_control_field()}], system=[text("a", **cache_control_field())]
    )
    _, (read, written, _plain) = await _usages(first, second)

    assert (read > 1_007, written) == (True, 0)


async def test_a_string_is_equivalent_to_a_text_block() -> None:
    first = make_body(system=LONG, messages=[user(text("a", **cache_control_field()))])
    second = make_body(
        system=[text(LONG)],
        messages=[user("a"), assistant("b"), user(text("c", **cache_control_field()))],
    )

    assert (await _usages(first, second))[1] == (1_007 + BRIEF, 2 * BRIEF, 0)


async def test_below_the_minimum_nothing_is_cached() -> None:
    short = "x" * 2_016  # 511 tokens with its block
    for words, written in ((short, 0), (short + "xxxx", 512)):
        usages = await _usages(_body(words=words), _body(words=words))
        assert [each[:2] for each in usages] == [(0, written), (written, 0)]


async def test_the_minimum_depends_on_the_model() -> None:
    for model, minimum in ((NEW, 512), ("claude-opus-4-8", 1_024), (OLD, 4_096)):
        under, over = ("x" * 4 * (minimum - 8), "x" * 4 * (minimum - 7))
        usages = await _usages(_body(words=under, model=model), _body(words=over, model=model))
        assert [written for _, written, _ in usages] == [0, minimum]


async def test_caches_are_per_model() -> None:
    usages = await _usages(_body(model=NEWEST), _body(model=NEW), _body(model=NEW))

    assert usages == [(0, 1_007, BRIEF), (0, 1_007, BRIEF), (1_007, 0, BRIEF)]


def _long_request(blocks: int, *marks: int) -> Object:
    """Return a request of so many blocks, marked where it is said, counted from 1."""
    content = [
        text(
            LONG if number == 1 else f"{number:04}",
            **(cache_control_field() if number in marks else {}),
        )
        for number in range(1, blocks + 1)
    ]
    return make_body(messages=[user(*content)])


async def test_the_lookback_spans_20_blocks_including_the_marked_one() -> None:
    for blocks, is_found in ((34, True), (35, False)):
        usages = await _usages(_long_request(15, 15), _long_request(blocks, blocks))
        assert (usages[1][0] > 0) is is_found
        assert usages[1][0] in {0, usages[0][1]}


async def test_a_second_cache_marker_starts_a_second_lookback() -> None:
    usages = await _usages(_long_request(15, 15), _long_request(60, 30, 60))

    assert usages[1][0] == usages[0][1]
    assert usages[1][2] == 0


async def test_the_lookback_finds_written_prefixes_not_equal_content() -> None:
    usages = await _usages(_long_request(10, 10), _long_request(9, 9))

    assert usages[1][:2] == (0, usages[1][1])
    assert usages[1][1] > 0


async def test_parallel_calls_push_a_prefix_out_of_the_lookback_block_by_block() -> None:
    strict = await _usages(*_parallel_calls())
    lenient = await _usages(
        *_parallel_calls(), endpoint=MessagesServerConfig(counts_tool_runs_once=True)
    )

    assert strict[1][0] == 0
    assert lenient[1][0] == strict[0][1] > 0


def _parallel_calls() -> list[Object]:
    """Return a request, and that which follows its 12 calls."""
    calls = [tool_use(f"toolu_{number}") for number in range(12)]
    results = [tool_result(f"toolu_{number}") for number in range(12)]
    results[-1] |= cache_control_field()
    first = user(text(LONG, **cache_control_field()))
    return [
        make_body(tools=[TOOL], messages=[first]),
        make_body(tools=[TOOL], messages=[user(text(LONG)), assistant(*calls), user(*results)]),
    ]


async def test_tokens_read_are_subtracted_from_tokens_written() -> None:
    first = make_body(messages=[user(text(LONG, **cache_control_field()))])
    second = make_body(
        messages=[user(text(LONG)), assistant("a"), user(text("b", **cache_control_field()))]
    )

    assert await _usages(first, second) == [(0, 1_007, 0), (1_007, 2 * BRIEF, 0)]


async def test_one_hour_cache_writes_are_counted_separately() -> None:
    body = make_body(
        system=[text(LONG, **cache_control_field("1h"))],
        messages=[user(text(LONG, **cache_control_field("5m")), text("a"))],
    )
    async with open_api_and_client(["ok"]) as (api, client):
        answer = await send(client, body)

        created = answer.usage.cache_creation
        assert created is not None
        assert created.ephemeral_1h_input_tokens == 1_007
        assert created.ephemeral_5m_input_tokens == 1_007
        assert answer.usage.cache_creation_input_tokens == 2_014
        assert answer.usage.input_tokens == BRIEF
        assert api.model_requests[0].usage is not None
        assert api.model_requests[0].usage.input.total == 2_014 + BRIEF


async def test_prefixes_live_for_their_ttl_and_reading_extends_it() -> None:
    async with open_api_and_client(lambda _: "ok") as (api, client):
        reads: list[int] = []
        for ttl, passed in [("5m", 0), ("5m", 200), ("5m", 200), ("5m", 301), ("1h", 0)]:
            api.advance_time(passed)
            answer = await send(
                client, make_body(system=[text(LONG + ttl, **cache_control_field(ttl))])
            )
            reads.append(answer.usage.cache_read_input_tokens or 0)
        api.advance_time(3_500)
        answer = await send(
            client, make_body(system=[text(LONG + "1h", **cache_control_field("1h"))])
        )

        assert [bool(read) for read in reads] == [False, True, True, False, False]
        assert answer.usage.cache_read_input_tokens == 1_008


async def test_effort_thinking_and_tool_choice_precede_the_messages_in_the_prefix() -> None:
    def body(**fields: JsonValue) -> Object:
        return make_body(
            NEW,
            tools=[TOOL],
            system=[text(LONG, **cache_control_field())],
            messages=[user(text(LONG, **cache_control_field()))],
            **fields,
        )

    async def reads(fields: Object) -> tuple[bool, bool]:
        usages = await _usages(body(), {**body(), **fields})
        read = usages[1][0]
        return read > 0, read > 2_000

    changes: list[Object] = [
        {"output_config": {"effort": "low"}},
        {"thinking": {"type": "disabled"}},
        {"tool_choice": {"type": "none"}},
    ]
    same: list[Object] = [
        {"output_config": {"effort": "high"}},
        {"thinking": {"type": "adaptive"}},
        {"thinking": {"type": "adaptive", "display": "summarized"}},
        {"tool_choice": {"type": "auto"}},
        {"max_tokens": 7, "stop_sequences": ["x"]},
    ]
    assert [await reads(fields) for fields in changes] == [(True, False)] * 3
    assert [await reads(fields) for fields in same] == [(True, True)] * 5


async def test_a_top_level_cache_marker_applies_to_the_last_block() -> None:
    top: JsonValue = {"type": "ephemeral"}
    first = make_body(messages=[user(LONG)], cache_control=top)
    second = make_body(messages=[user(LONG), assistant("a"), user("b")], cache_control=top)

    assert await _usages(first, second) == [(0, 1_007, 0), (1_007, 2 * BRIEF, 0)]


async def test_refused_and_count_only_requests_write_nothing() -> None:
    async with open_api_and_client(["ok"]) as (api, client):
        counted = await client.messages.count_tokens(
            model=NEWEST,
            messages=[{"role": "user", "content": "hi"}],
            system=[{"type": "text", "text": LONG, "cache_control": {"type": "ephemeral"}}],
        )
        with pytest.raises(anthropic.BadRequestError):
            await send(client, _body(messages=[user("a"), assistant("b")]))
        answer = await send(client, _body())

        assert counted.input_tokens == 1_007 + BRIEF
        assert answer.usage.cache_creation_input_tokens == 1_007
        assert [each.verdict for each in api.model_requests] == ["refused", "answered"]


async def test_a_prefix_is_cached_once_the_answer_that_writes_it_has_started() -> None:
    gate = ResponseGate()
    async with open_api_and_client([reply("slow", head_gate=gate), "b", "c"]) as (api, client):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(send, client, _body())
            await api.wait_for_requests(1)
            await send(client, _body(messages=[user("b")]))
            gate.open()
        await send(client, _body(messages=[user("c")]))

        assert [each.usage.input.read for each in api.model_requests if each.usage] == [0, 0, 1_007]


async def test_an_append_only_conversation_pays_every_token_once() -> None:
    script = [reply(think("Hm."), call("read_file", path="a.py")) for _ in range(8)]
    async with open_api_and_client(script) as (api, client):
        chat = SdkConversation(
            client,
            {"tools": [TOOL], "system": LONG, "cache_control": {"type": "ephemeral"}},
        )
        answer = await chat.send_user_message("Read.")
        for _ in range(7):
            called = answer.content[-1]
            assert called.type == "tool_use"
            answer = await chat.send_user_message(tool_result(called.id, content="line\n" * 50))

        usages = [request.usage.input for request in api.model_requests if request.usage]
        assert [after.read for after in usages[1:]] == [before.total for before in usages[:-1]]
        assert sum(usage.written for usage in usages) == usages[-1].total
        assert sum(usage.uncached for usage in usages) == 0
