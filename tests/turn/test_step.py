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
from acp_server.turn.step import Step
from tests.support.timeouts import PATIENCE_SECONDS
from tests.turn.fake_sinks import Ids, RecordingSink, SlowSink
from tests.turn.turn_harness import Playing, Round, Tools, echo

NOTHING_SAID = ModelRequest(())

TOOLS = Tools(echo=echo)


async def test_each_run_of_text_or_thinking_is_a_message_of_its_own() -> None:
    sink = RecordingSink()
    events = [
        ThinkingDelta("h"),
        ThinkingDelta("m"),
        TextDelta("a"),
        TextDelta("b"),
        ThinkingDelta("x"),
        TextDelta("c"),
    ]
    step = Step(Playing(Round(events)), TOOLS, sink, Ids(), None)
    assert await step.run(NOTHING_SAID) == "end_turn"
    assert sink.events == [
        ThoughtChunk("m1", "h"),
        ThoughtChunk("m1", "m"),
        MessageChunk("m2", "a"),
        MessageChunk("m2", "b"),
        ThoughtChunk("m3", "x"),
        MessageChunk("m4", "c"),
    ]
    assert step.reply(with_calls=True) == (Thinking("hm"), Text("ab"), Thinking("x"), Text("c"))


async def test_empty_pieces_are_neither_shown_nor_kept() -> None:
    sink = RecordingSink()
    step = Step(
        Playing(Round([TextDelta("a"), ThinkingDelta(""), TextDelta(""), TextDelta("b")])),
        TOOLS,
        sink,
        Ids(),
        None,
    )
    await step.run(NOTHING_SAID)
    assert sink.events == [MessageChunk("m1", "a"), MessageChunk("m1", "b")]
    assert step.reply(with_calls=True) == (Text("ab"),)


async def test_a_model_that_says_nothing_leaves_no_message() -> None:
    step = Step(Playing(Round([TextDelta("")])), TOOLS, RecordingSink(), Ids(), None)
    await step.run(NOTHING_SAID)
    assert step.reply(with_calls=True) == ()


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "refusal"])
async def test_the_reason_of_the_model_is_passed_on(stop: ModelStop) -> None:
    assert (
        await Step(Playing(Round([], stop)), TOOLS, RecordingSink(), Ids(), None).run(NOTHING_SAID)
        == stop
    )


@pytest.mark.parametrize(
    "error", [TurnError("a"), ModelFailedError("b"), ModelUnavailableError("c")]
)
async def test_an_error_that_the_port_knows_is_passed_on_as_it_is(error: TurnError) -> None:
    with pytest.raises(TurnError) as raised:
        await Step(Playing(Round([], error)), TOOLS, RecordingSink(), Ids(), None).run(NOTHING_SAID)
    assert raised.value is error


async def test_an_error_that_the_port_does_not_know_becomes_one_with_its_name_and_cause() -> None:
    error = KeyError("choices")
    with pytest.raises(ModelFailedError) as raised:
        await Step(Playing(Round([], error)), TOOLS, RecordingSink(), Ids(), None).run(NOTHING_SAID)
    assert raised.value.reason == "the model failed unexpectedly: KeyError: 'choices'"
    assert raised.value.__cause__ is error


async def test_what_a_failed_model_had_said_is_kept() -> None:
    step = Step(
        Playing(Round([TextDelta("so far")], ModelFailedError("x"))),
        TOOLS,
        RecordingSink(),
        Ids(),
        None,
    )
    with pytest.raises(ModelFailedError):
        await step.run(NOTHING_SAID)
    assert step.reply(with_calls=True) == (Text("so far"),)


async def test_a_model_waits_until_each_piece_is_shown() -> None:
    sink, model = SlowSink(), Playing(Round([TextDelta("a"), TextDelta("b")]))
    step = Step(model, TOOLS, sink, Ids(), None)
    with anyio.fail_after(PATIENCE_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(step.run, NOTHING_SAID)
            await sink.is_awaited.wait()
            assert model.passed_on == 0
            sink.opens.set()
    assert (model.passed_on, sink.text) == (2, "ab")


async def test_what_a_cancelled_model_had_said_is_kept() -> None:
    sink = SlowSink()
    step = Step(Playing(Round([TextDelta("a"), TextDelta("b")])), TOOLS, sink, Ids(), None)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(step.run, NOTHING_SAID)
        await sink.is_awaited.wait()
        tasks.cancel_scope.cancel()
    assert step.reply(with_calls=True) == (Text("a"),)


async def test_a_character_that_the_stream_cut_in_two_is_kept_whole() -> None:
    halves = [TextDelta("a\ud83d"), TextDelta("\ude00b\ud83d")]
    step = Step(Playing(Round(halves)), TOOLS, RecordingSink(), Ids(), None)
    await step.run(NOTHING_SAID)
    assert step.reply(with_calls=True) == (Text("a\U0001f600b\ufffd"),)
