"""Maintenance between requests: a conversation that is too long, cut results, instructions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import pytest

from acp_server.turn.context import Instructions, TurnContext
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.errors import ContextOverflowError
from acp_server.turn.events import CallChanged
from acp_server.turn.loop import MAX_OVERFLOWS
from acp_server.turn.ports import TextDelta, ToolOutcome, TurnSink
from tests.turn.turn_harness import (
    CharacterMeter,
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    echo_arguments,
    tool_call_events,
)

PROMPT = UserMessage((Text("x" * 80_000),))
DONE = ModelRound([TextDelta("Done.")])
CALL = ToolCall("c1", "echo", '{"a": 1}')


@dataclass
class HalvingMaintenance:
    """Maintenance that halves the prompt before each repeated request, or leaves it as it is."""

    can_shorten: bool = True
    requests: int = 0
    instructions: Mapping[str, Instructions] = field(default_factory=dict[str, Instructions])

    async def prepare_request(
        self, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> TurnContext:
        """Halve the prompt of a conversation that was refused."""
        del sink
        self.requests += 1
        if self.can_shorten and self.requests > 1:
            conversation.rebuild([UserMessage((Text("x" * (80_000 // 2 ** (self.requests - 1))),))])
        return context

    async def bound_results(
        self, conversation: Conversation, context: TurnContext, results: Sequence[ToolResult]
    ) -> Sequence[ToolResult]:
        """Cut each result to three characters."""
        del conversation, context
        return [replace(result, text=result.text[:3]) for result in results]

    async def find_instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: TurnSink
    ) -> Mapping[str, Instructions]:
        """Return the instructions for the calls that touched paths."""
        del conversation, sink
        return {call_id: self.instructions[call_id] for call_id in touched}


class TouchingTools(FunctionTools):
    """Tools that touch a path with every call."""

    async def run(self, call: ToolCall, sink: TurnSink) -> ToolOutcome:
        """Run the function, and name a path."""
        return replace(await super().run(call, sink), touched_paths=("/code/a.py",))


def refused(limit_tokens: int | None = None) -> ModelRound:
    """Return a round in which the endpoint refuses the request for its size."""
    return ModelRound(end=ContextOverflowError("it is too large", limit_tokens))


def harness_with(maintenance: HalvingMaintenance | None, *rounds: ModelRound) -> TurnHarness:
    """Return a harness whose model plays these rounds, with this maintenance."""
    harness = TurnHarness(RoundModel(*rounds), meter=CharacterMeter(window_tokens=100_000))
    harness.context = replace(harness.context, maintenance=maintenance)
    return harness


def sent_sizes(harness: TurnHarness) -> list[int]:
    """Return the sizes of the requests that the model received."""
    model, meter = harness.context.model, CharacterMeter()
    assert isinstance(model, RoundModel)
    return [meter.estimate(request) for request in model.requests]


@pytest.mark.parametrize("limit_tokens", [None, 8_000])
async def test_a_request_refused_for_its_size_is_repeated_once_the_conversation_is_shorter(
    limit_tokens: int | None,
) -> None:
    harness = harness_with(HalvingMaintenance(), refused(limit_tokens), DONE)
    assert await harness.run(PROMPT) == "end_turn"
    assert sent_sizes(harness) == [80_000, 40_000]
    assert harness.history[-1] == AssistantMessage((Text("Done."),))


async def test_a_request_that_could_not_be_shortened_is_not_sent_again() -> None:
    harness = harness_with(HalvingMaintenance(can_shorten=False), refused(), DONE)
    with pytest.raises(ContextOverflowError):
        await harness.run(PROMPT)
    assert sent_sizes(harness) == [80_000]


async def test_without_maintenance_a_refusal_ends_the_turn() -> None:
    harness = harness_with(None, refused(8_000), DONE)
    with pytest.raises(ContextOverflowError):
        await harness.run(PROMPT)
    assert sent_sizes(harness) == [80_000]


async def test_a_conversation_shortened_to_a_named_limit_is_sent_only_once_more() -> None:
    harness = harness_with(HalvingMaintenance(), refused(8_000))
    with pytest.raises(ContextOverflowError):
        await harness.run(PROMPT)
    assert len(sent_sizes(harness)) == 2


async def test_without_a_named_limit_smaller_and_smaller_requests_are_tried() -> None:
    harness = harness_with(HalvingMaintenance(), refused())
    with pytest.raises(ContextOverflowError):
        await harness.run(PROMPT)
    assert len(sent_sizes(harness)) == 1 + MAX_OVERFLOWS


async def test_a_result_is_cut_for_the_model_and_shown_whole() -> None:
    calls = ModelRound(tool_call_events(CALL), "tool_use")
    harness = TurnHarness(RoundModel(calls, DONE), FunctionTools(echo=echo_arguments))
    harness.context = replace(harness.context, maintenance=HalvingMaintenance(can_shorten=False))
    await harness.run()
    assert harness.history[2] == UserMessage((ToolResult("c1", '{"a'),))
    assert harness.sink.events[-2] == CallChanged("c1", "completed", content=(Text('{"a": 1}'),))


async def test_instructions_for_touched_paths_follow_the_result_and_are_named() -> None:
    maintenance = HalvingMaintenance(
        can_shorten=False, instructions={"c1": Instructions("Use tabs.", ("AGENTS.md",))}
    )
    calls = ModelRound(tool_call_events(CALL), "tool_use")
    harness = TurnHarness(RoundModel(calls, DONE), TouchingTools(echo=echo_arguments))
    harness.context = replace(harness.context, maintenance=maintenance)
    await harness.run()
    assert harness.history[2] == UserMessage((ToolResult("c1", '{"a\n\nUse tabs.'),))
    changes = [each for each in harness.sink.events if isinstance(each, CallChanged)]
    assert changes[-1].instructions == ("AGENTS.md",)
