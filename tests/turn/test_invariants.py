"""Invariants of a turn: durability before effects, and input that no request would answer."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from unittest.mock import patch

import pytest

from acp_server.turn.conversation import PromptPart, Text, ToolCall, UserMessage
from acp_server.turn.errors import DEFAULT_CONTINUATIONS, ModelInterruptedError
from acp_server.turn.ports import TextDelta, TurnSink
from tests.turn.turn_harness import (
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    tool_call_events,
)

CALL = ToolCall("c1", "look", "{}")


@dataclass
class LoggingDurability:
    """Notes the commits and syncs of a turn."""

    log: list[str]

    async def commit(self) -> None:
        self.log.append("commit")

    def sync(self) -> None:
        self.log.append("sync")


@dataclass
class WaitingInput:
    """User input that waits from the start of a turn."""

    texts: list[str] = field(default_factory=lambda: ["and the tests?"])

    @property
    def is_empty(self) -> bool:
        return not self.texts

    async def take(self, sink: TurnSink) -> Sequence[PromptPart]:
        del sink
        texts, self.texts = self.texts, []
        return [Text(text) for text in texts]


async def test_calls_are_committed_before_they_run() -> None:
    log: list[str] = []

    async def look(call: ToolCall) -> str:
        log.append(f"run {call.id}")
        return "seen"

    calls = ModelRound(tool_call_events(CALL, replace(CALL, id="c2")), "tool_use")
    harness = TurnHarness(
        RoundModel(calls, ModelRound([TextDelta("Done.")])), FunctionTools(look=look)
    )
    harness.context = replace(harness.context, durability=LoggingDurability(log))
    await harness.run()
    # The prompt before the model sees it, the calls before any of them runs.
    assert log == ["commit", "commit", "run c1", "run c2", "sync", "sync"]


@pytest.mark.parametrize("ends_with_call", [False, True])
async def test_input_is_not_taken_by_the_last_request_of_the_budget(
    *, ends_with_call: bool
) -> None:
    async def look(call: ToolCall) -> str:
        return call.arguments

    events = tool_call_events(CALL) if ends_with_call else [TextDelta("Done.")]
    model = RoundModel(ModelRound(events, "tool_use" if ends_with_call else "end_turn"))
    harness = TurnHarness(model, FunctionTools(look=look), max_requests=1)
    waiting = WaitingInput()
    harness.context = replace(harness.context, mid_turn_input=waiting)
    await harness.run()
    # No request of this turn would answer it: it stays queued and runs as its own prompt.
    assert waiting.texts == ["and the tests?"]
    assert "and the tests?" not in str(harness.history)


async def test_input_is_taken_while_another_request_can_answer_it() -> None:
    model = RoundModel(ModelRound([TextDelta("Done.")]))
    harness = TurnHarness(model, max_requests=2)
    waiting = WaitingInput()
    harness.context = replace(harness.context, mid_turn_input=waiting)
    await harness.run()
    assert waiting.texts == []
    assert model.requests[1].messages[-1] == UserMessage((Text("and the tests?"),))


async def test_input_taken_behind_an_answer_is_committed_before_it_is_answered() -> None:
    log: list[str] = []
    model = RoundModel(ModelRound([TextDelta("Done.")]))
    harness = TurnHarness(model, max_requests=2)
    harness.context = replace(
        harness.context, mid_turn_input=WaitingInput(), durability=LoggingDurability(log)
    )
    await harness.run()
    assert log == ["commit", "sync", "commit", "sync"]


async def test_the_wait_after_a_broken_stream_doubles() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    cut = ModelInterruptedError("the stream broke")
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("a")], cut)))
    harness.context = replace(harness.context, resume_wait_seconds=0.5)
    with patch("acp_server.turn.loop.anyio.sleep", sleep), pytest.raises(ModelInterruptedError):
        await harness.run()
    assert waits == [0.5 * 2**number for number in range(DEFAULT_CONTINUATIONS)]
