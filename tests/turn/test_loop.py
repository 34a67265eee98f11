"""A turn: what it asks the model, and what it leaves in the conversation however it ends."""

from dataclasses import replace

import anyio
import pytest

from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Link,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.errors import ModelFailedError, PromptTooLargeError
from acp_server.turn.events import CallAppeared, MessageChunk, NoticeRaised
from acp_server.turn.loop import NOT_RUN, REFUSALS
from acp_server.turn.ports import (
    ModelEvent,
    ModelRequest,
    ModelStop,
    StopReason,
    TextDelta,
    ThinkingDelta,
    ThinkingRedacted,
    ThinkingSigned,
    ToolCallDelta,
    ToolCallStarted,
)
from tests.handlers.fake_models import EchoModel, FailingModel, UncancellableModel
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import CHARACTERS_SHOWN, THERE_WAS_NO_ANSWER
from tests.turn.turn_harness import (
    HI,
    CharacterMeter,
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    echo_arguments,
    final_call_change,
    tool_call_events,
)

HANG = UserMessage((Text("hang"),))
CALL = ToolCall("c1", "echo", '{"a": 1}')


async def test_a_turn_shows_the_response_and_stores_both_messages() -> None:
    harness = TurnHarness(EchoModel())
    assert await harness.run(HI) == "end_turn"
    assert harness.sink.events == [MessageChunk("m1", "hi")]
    assert harness.history == [HI, AssistantMessage((Text("hi"),))]


async def test_the_request_contains_the_whole_conversation_with_the_newest_prompt_last() -> None:
    model = UncancellableModel()
    harness = TurnHarness(model)
    for _ in range(2):
        await harness.run(HI)
    answer = AssistantMessage((Text("Hello."),))
    assert model.requests == [ModelRequest((HI,)), ModelRequest((HI, answer, HI))]


async def test_a_failed_turn_keeps_its_output() -> None:
    harness = TurnHarness(FailingModel(ModelFailedError("x")))
    with pytest.raises(ModelFailedError):
        await harness.run(HI)
    assert harness.history == [HI, AssistantMessage((Text("So far"),))]


async def test_a_turn_that_fails_before_any_output_keeps_the_prompt_and_the_reason() -> None:
    harness = TurnHarness(FailingModel(ModelFailedError("the endpoint is down"), text=""))
    with pytest.raises(ModelFailedError):
        await harness.run(HI)
    no_answer = Text(f"{THERE_WAS_NO_ANSWER} the endpoint is down)")
    assert harness.history == [HI, AssistantMessage((no_answer,))]


async def test_a_turn_that_fails_within_a_call_closes_it_and_keeps_earlier_output() -> None:
    events = [TextDelta("Let me see."), ToolCallStarted("c1", "echo"), ToolCallDelta("c1", '{"a')]
    harness = TurnHarness(
        RoundModel(ModelRound(events, ModelFailedError("broken"))),
        FunctionTools(echo=echo_arguments),
    )
    with pytest.raises(ModelFailedError):
        await harness.run(HI)
    assert harness.sink.events == [
        MessageChunk("m1", "Let me see."),
        CallAppeared("c1", "echo"),
        final_call_change("c1", "failed", "broken"),
    ]
    assert harness.history == [HI, AssistantMessage((Text("Let me see."),))]


@pytest.mark.parametrize("last", [ThinkingDelta("c"), ThinkingRedacted("c")])
async def test_reasoning_after_the_last_text_drops_all_reasoning(last: ModelEvent) -> None:
    """A message may not end in it, and one that lacks some of it counts as changed."""
    harness = TurnHarness(RoundModel(ModelRound([ThinkingDelta("a"), TextDelta("b"), last])))
    await harness.run(HI)
    assert harness.history == [HI, AssistantMessage((Text("b"),))]


async def test_reasoning_before_the_last_text_is_kept() -> None:
    thinking = [ThinkingDelta("a"), ThinkingSigned("signature"), ThinkingRedacted("c")]
    harness = TurnHarness(RoundModel(ModelRound([*thinking, TextDelta("b")])))
    await harness.run(HI)
    assert harness.history == [
        HI,
        AssistantMessage((Thinking("a", "signature"), RedactedThinking("c"), Text("b"))),
    ]


@pytest.mark.parametrize(
    ("stop", "reason"),
    [
        ("end_turn", "end_turn"),
        ("refusal", "refusal"),
        ("content_filter", "refusal"),
        ("tool_use", "end_turn"),
    ],
)
async def test_the_stop_reason_of_the_model_is_that_of_the_turn(
    stop: ModelStop, reason: StopReason
) -> None:
    """Also of one that says it waits for results, and has made no call."""
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("a")], stop)))
    assert await harness.run(HI) == reason
    assert harness.history == [HI, AssistantMessage((Text("a"),))]


@pytest.mark.parametrize("stop", ["refusal", "content_filter"])
async def test_the_user_learns_that_an_answer_was_refused(stop: ModelStop) -> None:
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("a")], stop)))
    await harness.run(HI)
    assert harness.sink.events[-1] == NoticeRaised("warning", REFUSALS[stop], "m2", is_said=True)


@pytest.mark.parametrize("stop", ["refusal", "end_turn"])
async def test_calls_of_a_model_that_stopped_for_another_reason_are_closed_and_not_run(
    stop: ModelStop,
) -> None:
    """A whole call, and one whose arguments end in the middle."""
    half = [ToolCallStarted("c2", "echo"), ToolCallDelta("c2", '{"a')]
    model = RoundModel(ModelRound([TextDelta("Well"), *tool_call_events(CALL), *half], stop))
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(model, tools)
    assert await harness.run(HI) == stop
    events = [each for each in harness.sink.events if not isinstance(each, NoticeRaised)]
    assert events == [
        MessageChunk("m1", "Well"),
        CallAppeared("c1", "echo"),
        CallAppeared("c2", "echo"),
        final_call_change("c1", "failed", NOT_RUN),
        final_call_change("c2", "failed", NOT_RUN),
    ]
    assert harness.history == [HI, AssistantMessage((Text("Well"),))]
    assert (tools.started_call_ids, len(model.requests)) == ([], 1)


async def test_a_paused_model_is_asked_to_continue_from_its_output() -> None:
    model = RoundModel(ModelRound([TextDelta("One")], "pause"), ModelRound([TextDelta("two")]))
    harness = TurnHarness(model)
    assert await harness.run(HI) == "end_turn"
    first, second = AssistantMessage((Text("One"),)), AssistantMessage((Text("two"),))
    assert model.requests == [
        ModelRequest((HI,), tools=()),
        ModelRequest((HI, first), tools=()),
    ]
    assert harness.history == [HI, first, second]
    assert harness.sink.events == [MessageChunk("m1", "One"), MessageChunk("m2", "two")]


async def test_the_number_of_model_requests_per_turn_is_limited() -> None:
    calls = [ToolCall(f"c{n}", "echo", f'{{"n": {n}}}') for n in "123"]
    model = RoundModel(*(ModelRound(tool_call_events(call), "tool_use") for call in calls))
    harness = TurnHarness(model, FunctionTools(echo=echo_arguments), max_requests=3)
    assert await harness.run(HI) == "max_turn_requests"
    assert len(model.requests) == 3
    assert harness.history[-1] == UserMessage((ToolResult("c3", calls[2].arguments),))


# The size of a prompt.


async def test_a_prompt_exceeding_the_context_window_is_refused_and_not_stored() -> None:
    model = RoundModel(ModelRound())
    harness = TurnHarness(model, meter=CharacterMeter(window_tokens=10))
    with pytest.raises(PromptTooLargeError) as raised:
        await harness.run(UserMessage((Text("x" * 11),)))
    assert (raised.value.estimated_tokens, raised.value.window_tokens) == (11, 10)
    assert raised.value.reason == (
        "the prompt is too large: about 11 tokens, and the context window holds 10; shorten it, "
        "or name the file and let the agent read it"
    )
    assert (harness.history, harness.sink.events, model.requests) == ([], [], [])
    assert await harness.run(UserMessage((Text("x" * 10),))) == "end_turn"


class SystemPromptMeter(CharacterMeter):
    """Meter that counts the system prompt as well."""

    def estimate(self, request: ModelRequest) -> int:
        """Return the length of the system prompt and all user messages."""
        return len(request.system) + super().estimate(request)


async def test_the_system_prompt_leaves_less_room_for_a_prompt() -> None:
    harness = TurnHarness(RoundModel(ModelRound()), meter=SystemPromptMeter(window_tokens=10))
    harness.context = replace(harness.context, system="four")
    with pytest.raises(PromptTooLargeError) as raised:
        await harness.run(UserMessage((Text("x" * 7),)))
    assert (raised.value.estimated_tokens, raised.value.window_tokens) == (7, 6)
    assert await harness.run(UserMessage((Text("x" * 6),))) == "end_turn"


async def test_earlier_messages_do_not_count_toward_the_size_of_a_prompt() -> None:
    harness = TurnHarness(EchoModel(), meter=CharacterMeter(window_tokens=10))
    await harness.run(UserMessage((Text("x" * 6),)))
    await harness.run(UserMessage((Text("x" * 6),)))
    assert len(harness.history) == 4


async def test_the_middle_of_a_long_attachment_is_omitted_and_its_file_named() -> None:
    long = Attachment("file:///a.txt", "h" * 700 + "m" * 1000 + "t" * 300)
    parts = (Text("t" * 400), Link("file:///b", "b"), long)
    harness = TurnHarness(
        RoundModel(ModelRound([TextDelta("Yes.")])), meter=CharacterMeter(window_tokens=1800)
    )
    await harness.run(UserMessage(parts))
    *others, cut = harness.history[0].parts
    assert others == list(parts[:2])
    assert isinstance(cut, Attachment)
    assert (cut.text[:700], cut.text[-250:]) == ("h" * 700, "t" * 250)
    assert f"of 2,000 {CHARACTERS_SHOWN}; read file:///a.txt for the rest" in cut.text
    assert len(cut.text) <= 1_125


async def test_an_attachment_that_just_fits_is_unchanged() -> None:
    attachment = Attachment("file:///a.txt", "x" * 625)
    harness = TurnHarness(EchoModel(), meter=CharacterMeter(window_tokens=1000))
    await harness.run(UserMessage((attachment,)))
    assert harness.history[0] == UserMessage((attachment,))


# A turn that is given up.


async def test_a_turn_settled_early_keeps_only_its_output_so_far() -> None:
    model = UncancellableModel()
    harness = TurnHarness(model)
    turn = harness.make_turn()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.run, HANG)
            await model.is_blocked.wait()
            turn.flush()
            harness.conversation.append(HI)
            turn.flush()
            model.allowed_to_end.set()
    assert harness.history == [HANG, AssistantMessage((Text("Working"),)), HI]
    assert harness.sink.text == "Working, too late"


def test_settling_a_turn_that_has_not_started_changes_nothing() -> None:
    harness = TurnHarness(EchoModel())
    harness.make_turn().flush()
    assert harness.history == []
