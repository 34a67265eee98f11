"""A stream that breaks half-way: the model is asked to go on, and the user sees one answer."""

import pytest

from acp_server.turn.continuation import CONTINUE_PROMPT
from acp_server.turn.conversation import (
    AssistantMessage,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.errors import DEFAULT_CONTINUATIONS, ModelInterruptedError
from acp_server.turn.events import CallAppeared, CallChanged, MessageChunk, NoticeRaised
from acp_server.turn.loop import NOT_RUN
from acp_server.turn.ports import (
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallStarted,
)
from tests.turn.turn_harness import (
    HI,
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    echo_arguments,
    final_call_change,
    tool_call_events,
    user_words,
)

CUT = ModelInterruptedError("the connection broke")
CONTINUE_MESSAGE = UserMessage((Text(CONTINUE_PROMPT),))


def notice(message_id: str) -> NoticeRaised:
    return NoticeRaised(
        "warning", "the connection broke; continuing from where it stopped", message_id
    )


async def test_an_interrupted_text_continues_in_the_same_message() -> None:
    model = RoundModel(ModelRound([TextDelta("One, ")], CUT), ModelRound([TextDelta("two.")]))
    harness = TurnHarness(model)
    assert await harness.run() == "end_turn"
    assert harness.sink.events == [
        MessageChunk("m1", "One, "),
        notice("m2"),
        MessageChunk("m1", "two."),
    ]
    first = AssistantMessage((Text("One, "),))
    assert model.requests == [ModelRequest((HI,)), ModelRequest((HI, first, CONTINUE_MESSAGE))]
    assert harness.history == [HI, first, CONTINUE_MESSAGE, AssistantMessage((Text("two."),))]
    assert user_words(harness.history) == ["hi"]


async def test_only_the_first_text_continues_in_the_same_message() -> None:
    rest = [ThinkingDelta("Where was I?"), TextDelta("two."), TextDelta("Three.", is_new=True)]
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("One, ")], CUT), ModelRound(rest)))
    await harness.run()
    chunks = [each for each in harness.sink.events if isinstance(each, MessageChunk)]
    assert chunks == [
        MessageChunk("m1", "One, "),
        MessageChunk("m1", "two."),
        MessageChunk("m4", "Three."),
    ]


@pytest.mark.parametrize("events", [[], [ThinkingDelta("Hm.")], [TextDelta(" \n")]])
async def test_an_interruption_before_any_output_repeats_the_same_request(
    events: list[TextDelta | ThinkingDelta],
) -> None:
    model = RoundModel(ModelRound(events, CUT), ModelRound([TextDelta("Hello.")]))
    harness = TurnHarness(model)
    assert await harness.run() == "end_turn"
    assert model.requests == [ModelRequest((HI,)), ModelRequest((HI,))]
    assert harness.history == [HI, AssistantMessage((Text("Hello."),))]


async def test_a_model_interrupted_twice_still_continues_in_the_same_message() -> None:
    """The second time before it said anything: it is asked to go on only once."""
    model = RoundModel(
        ModelRound([TextDelta("One, ")], CUT), ModelRound([], CUT), ModelRound([TextDelta("two.")])
    )
    harness = TurnHarness(model)
    assert await harness.run() == "end_turn"
    first = AssistantMessage((Text("One, "),))
    going_on = ModelRequest((HI, first, CONTINUE_MESSAGE))
    assert model.requests == [ModelRequest((HI,)), going_on, going_on]
    assert harness.sink.events == [
        MessageChunk("m1", "One, "),
        notice("m2"),
        notice("m3"),
        MessageChunk("m1", "two."),
    ]
    assert harness.history == [HI, first, CONTINUE_MESSAGE, AssistantMessage((Text("two."),))]


async def test_complete_calls_of_an_interrupted_model_run_and_partial_ones_are_closed() -> None:
    complete = ToolCall("c1", "echo", "{}")
    half = [ToolCallStarted("c2", "echo"), ToolCallDelta("c2", '{"a')]
    model = RoundModel(
        ModelRound([TextDelta("See:"), *tool_call_events(complete), *half], CUT),
        ModelRound([TextDelta("Done.")]),
    )
    harness = TurnHarness(model, FunctionTools(echo=echo_arguments))
    assert await harness.run() == "end_turn"
    assert harness.sink.events == [
        MessageChunk("m1", "See:"),
        CallAppeared("c1", "echo"),
        CallAppeared("c2", "echo"),
        notice("m2"),
        final_call_change("c2", "failed", NOT_RUN),
        CallChanged("c1", "in_progress"),
        final_call_change("c1", "completed", "{}"),
        MessageChunk("m3", "Done."),
    ]
    assert harness.history == [
        HI,
        AssistantMessage((Text("See:"), complete)),
        UserMessage((ToolResult("c1", "{}"),)),
        AssistantMessage((Text("Done."),)),
    ]


async def test_an_interruption_within_a_call_keeps_the_text_before_it() -> None:
    half = [ToolCallStarted("c1", "echo"), ToolCallDelta("c1", '{"a')]
    call = ToolCall("c2", "echo", "{}")
    model = RoundModel(
        ModelRound([TextDelta("See:"), *half], CUT),
        ModelRound(tool_call_events(call), "tool_use"),
        ModelRound([TextDelta("Done.")]),
    )
    harness = TurnHarness(model, FunctionTools(echo=echo_arguments))
    assert await harness.run() == "end_turn"
    assert harness.history == [
        HI,
        AssistantMessage((Text("See:"),)),
        CONTINUE_MESSAGE,
        AssistantMessage((call,)),
        UserMessage((ToolResult("c2", "{}"),)),
        AssistantMessage((Text("Done."),)),
    ]
    assert harness.sink.events[-1] == MessageChunk("m3", "Done.")


async def test_a_model_interrupted_repeatedly_finally_fails() -> None:
    model = RoundModel(ModelRound([TextDelta("a")], CUT))
    harness = TurnHarness(model)
    with pytest.raises(ModelInterruptedError) as raised:
        await harness.run()
    assert raised.value is CUT
    assert len(model.requests) == DEFAULT_CONTINUATIONS + 1
    assert harness.history == [
        HI,
        *(AssistantMessage((Text("a"),)), CONTINUE_MESSAGE) * DEFAULT_CONTINUATIONS,
        AssistantMessage((Text("a"),)),
    ]


async def test_the_number_of_continuation_requests_is_limited() -> None:
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("a")], CUT)), max_requests=2)
    assert await harness.run() == "max_turn_requests"
    message = AssistantMessage((Text("a"),))
    assert harness.history == [HI, message, CONTINUE_MESSAGE, message]
