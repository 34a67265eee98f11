"""One call of the model: what streams is shown as it comes, and kept."""

import anyio
import pytest

from acp_server.turn.conversation import Text, Thinking
from acp_server.turn.errors import ModelFailedError, ModelUnavailableError, TurnError
from acp_server.turn.events import MessageChunk, ThoughtChunk
from acp_server.turn.ports import (
    ModelRequest,
    ModelStop,
    TextDelta,
    ThinkingDelta,
)
from acp_server.turn.step import ModelStep
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.turn.fake_sinks import BlockedSink, MemorySink, SequentialIds
from tests.turn.turn_harness import FunctionTools, ModelRound, RoundModel, echo_arguments

EMPTY_REQUEST = ModelRequest(())

TOOLS = FunctionTools(echo=echo_arguments)


async def test_each_run_of_text_or_reasoning_is_a_separate_message() -> None:
    sink = MemorySink()
    events = [
        ThinkingDelta("h"),
        ThinkingDelta("m"),
        TextDelta("a"),
        TextDelta("b"),
        ThinkingDelta("x"),
        TextDelta("c"),
    ]
    step = ModelStep(RoundModel(ModelRound(events)), TOOLS, sink, SequentialIds(), None)
    assert await step.run(EMPTY_REQUEST) == "end_turn"
    assert sink.events == [
        ThoughtChunk("m1", "h"),
        ThoughtChunk("m1", "m"),
        MessageChunk("m2", "a"),
        MessageChunk("m2", "b"),
        ThoughtChunk("m3", "x"),
        MessageChunk("m4", "c"),
    ]
    assert step.reply(with_calls=True) == (Thinking("hm"), Text("ab"), Thinking("x"), Text("c"))


async def test_empty_chunks_are_neither_shown_nor_kept() -> None:
    sink = MemorySink()
    step = ModelStep(
        RoundModel(ModelRound([TextDelta("a"), ThinkingDelta(""), TextDelta(""), TextDelta("b")])),
        TOOLS,
        sink,
        SequentialIds(),
        None,
    )
    await step.run(EMPTY_REQUEST)
    assert sink.events == [MessageChunk("m1", "a"), MessageChunk("m1", "b")]
    assert step.reply(with_calls=True) == (Text("ab"),)


async def test_a_model_without_output_leaves_no_message() -> None:
    step = ModelStep(
        RoundModel(ModelRound([TextDelta("")])), TOOLS, MemorySink(), SequentialIds(), None
    )
    await step.run(EMPTY_REQUEST)
    assert step.reply(with_calls=True) == ()


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "refusal"])
async def test_the_stop_reason_of_the_model_is_passed_on(stop: ModelStop) -> None:
    assert (
        await ModelStep(
            RoundModel(ModelRound([], stop)), TOOLS, MemorySink(), SequentialIds(), None
        ).run(EMPTY_REQUEST)
        == stop
    )


@pytest.mark.parametrize(
    "error", [TurnError("a"), ModelFailedError("b"), ModelUnavailableError("c")]
)
async def test_a_known_error_is_passed_on_unchanged(error: TurnError) -> None:
    with pytest.raises(TurnError) as raised:
        await ModelStep(
            RoundModel(ModelRound([], error)), TOOLS, MemorySink(), SequentialIds(), None
        ).run(EMPTY_REQUEST)
    assert raised.value is error


async def test_an_unknown_error_is_wrapped_with_its_name_and_cause() -> None:
    error = KeyError("choices")
    with pytest.raises(ModelFailedError) as raised:
        await ModelStep(
            RoundModel(ModelRound([], error)), TOOLS, MemorySink(), SequentialIds(), None
        ).run(EMPTY_REQUEST)
    assert raised.value.reason == "the model failed unexpectedly: KeyError: 'choices'"
    assert raised.value.__cause__ is error


async def test_the_output_of_a_failed_model_is_kept() -> None:
    step = ModelStep(
        RoundModel(ModelRound([TextDelta("so far")], ModelFailedError("x"))),
        TOOLS,
        MemorySink(),
        SequentialIds(),
        None,
    )
    with pytest.raises(ModelFailedError):
        await step.run(EMPTY_REQUEST)
    assert step.reply(with_calls=True) == (Text("so far"),)


async def test_a_model_waits_until_each_chunk_is_shown() -> None:
    sink, model = BlockedSink(), RoundModel(ModelRound([TextDelta("a"), TextDelta("b")]))
    step = ModelStep(model, TOOLS, sink, SequentialIds(), None)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(step.run, EMPTY_REQUEST)
            await sink.wait_started.wait()
            assert model.delivered_count == 0
            sink.opened.set()
    assert (model.delivered_count, sink.text) == (2, "ab")


async def test_the_output_of_a_cancelled_model_is_kept() -> None:
    sink = BlockedSink()
    step = ModelStep(
        RoundModel(ModelRound([TextDelta("a"), TextDelta("b")])), TOOLS, sink, SequentialIds(), None
    )
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(step.run, EMPTY_REQUEST)
        await sink.wait_started.wait()
        tasks.cancel_scope.cancel()
    assert step.reply(with_calls=True) == (Text("a"),)


async def test_a_character_split_by_the_stream_is_joined() -> None:
    halves = [TextDelta("a\ud83d"), TextDelta("\ude00b\ud83d")]
    step = ModelStep(RoundModel(ModelRound(halves)), TOOLS, MemorySink(), SequentialIds(), None)
    await step.run(EMPTY_REQUEST)
    assert step.reply(with_calls=True) == (Text("a\U0001f600b\ufffd"),)
