"""Answers that stop early: cut at the output limit, empty, or refused."""

import pytest

from acp_server.turn.continuation import (
    ANSWER_AFTER_NOTHING,
    ANSWER_AFTER_THINKING,
    CONTINUE_CUT,
    CUT_CALL,
    MAX_CONTINUATIONS,
    SAID_NOTHING,
    STOPPED_AT_LIMIT,
    whole_values,
)
from acp_server.turn.conversation import (
    AssistantMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.events import MessageChunk, NoticeRaised
from acp_server.turn.loop import NO_ANSWER, REFUSALS
from acp_server.turn.ports import (
    ModelEvent,
    ModelStop,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)
from tests.support.user_texts import NOT_VALID_JSON
from tests.turn.turn_harness import (
    HI,
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    echo_arguments,
    final_call_change,
    tool_call_events,
)

DONE = ModelRound([TextDelta("Done.")])
CALL = ToolCall("c1", "echo", '{"a": 1}')
NOTHING = AssistantMessage((Text(NO_ANSWER.format(reason="it said nothing")),))


def cut_call(call_id: str, text: str, *, is_reported_complete: bool) -> list[ModelEvent]:
    """Return the events of a call whose arguments end early."""
    events: list[ModelEvent] = [ToolCallStarted(call_id, "echo"), ToolCallDelta(call_id, text)]
    return [*events, ToolCallCompleted(call_id)] if is_reported_complete else events


def chunks(harness: TurnHarness) -> list[MessageChunk]:
    """Return what the agent said."""
    return [each for each in harness.sink.events if isinstance(each, MessageChunk)]


def notices(harness: TurnHarness) -> list[str]:
    """Return the titles of the notices that must not be missed."""
    events = harness.sink.events
    return [each.title for each in events if isinstance(each, NoticeRaised) and each.is_said]


async def test_a_text_cut_at_the_output_limit_goes_on_in_the_same_message() -> None:
    model = RoundModel(
        ModelRound([TextDelta("One, ")], "max_tokens"),
        ModelRound([TextDelta("two, ")], "max_tokens"),
        ModelRound([TextDelta("three.")]),
    )
    harness = TurnHarness(model)
    assert await harness.run() == "end_turn"
    assert {chunk.message_id for chunk in chunks(harness)} == {"m1"}
    assert "".join(chunk.text for chunk in chunks(harness)) == "One, two, three."
    more = UserMessage((Text(CONTINUE_CUT),))
    texts = [AssistantMessage((Text(text),)) for text in ("One, ", "two, ", "three.")]
    assert harness.history == [HI, texts[0], more, texts[1], more, texts[2]]


async def test_an_answer_that_always_reaches_the_limit_ends_after_three_continuations() -> None:
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("a")], "max_tokens")))
    assert await harness.run() == "max_tokens"
    assert len(chunks(harness)) == MAX_CONTINUATIONS + 1
    assert notices(harness) == [STOPPED_AT_LIMIT.format(times=MAX_CONTINUATIONS + 1)]
    assert harness.history[-1] == AssistantMessage((Text("a"),))


async def test_continuations_are_counted_per_answer() -> None:
    cut, call = ModelRound([TextDelta("a")], "max_tokens"), tool_call_events(CALL)
    rounds = [*[cut] * 3, ModelRound(call, "tool_use"), *[cut] * 3, DONE]
    harness = TurnHarness(RoundModel(*rounds), FunctionTools(echo=echo_arguments), max_requests=20)
    assert await harness.run() == "end_turn"


async def test_the_last_request_of_the_budget_is_not_continued() -> None:
    model = RoundModel(ModelRound([TextDelta("a")], "max_tokens"))
    harness = TurnHarness(model, max_requests=1)
    assert await harness.run() == "max_tokens"
    assert harness.history == [HI, AssistantMessage((Text("a"),))]


@pytest.mark.parametrize("is_reported_complete", [False, True])
async def test_a_cut_call_stays_in_the_history_and_whole_calls_before_it_run(
    *, is_reported_complete: bool
) -> None:
    half = cut_call("c2", '{"a": 2, "b": "xy', is_reported_complete=is_reported_complete)
    thought = [ThinkingDelta("Hm."), ThinkingSigned("signature")]
    cut = ModelRound([*thought, *tool_call_events(CALL), *half], "max_tokens")
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(RoundModel(cut, DONE), tools)
    assert await harness.run() == "end_turn"
    reason = CUT_CALL.format(characters=17)
    assert final_call_change("c2", "failed", reason) in harness.sink.events
    assert tools.started_call_ids == ["c1"]
    assert harness.history == [
        HI,
        AssistantMessage((Thinking("Hm.", "signature"), CALL, ToolCall("c2", "echo", '{"a": 2}'))),
        UserMessage((ToolResult("c1", '{"a": 1}'), ToolResult("c2", reason, is_error=True))),
        AssistantMessage((Text("Done."),)),
    ]


async def test_a_call_that_is_cut_again_and_again_ends_the_turn_with_its_result() -> None:
    rounds = [
        ModelRound(cut_call(f"c{number}", " " * number, is_reported_complete=True), "max_tokens")
        for number in range(MAX_CONTINUATIONS + 1)
    ]
    harness = TurnHarness(RoundModel(*rounds), FunctionTools(echo=echo_arguments))
    assert await harness.run() == "max_tokens"
    assert harness.history[-1] == UserMessage(
        (ToolResult("c3", CUT_CALL.format(characters=3), is_error=True),)
    )


async def test_a_call_that_the_model_wrote_wrongly_before_the_limit_is_not_called_cut() -> None:
    wrong = ToolCall("c0", "echo", '{"a" 1}')
    cut = ModelRound(tool_call_events(wrong, CALL), "max_tokens")
    harness = TurnHarness(RoundModel(cut, DONE), FunctionTools(echo=echo_arguments))
    assert await harness.run() == "end_turn"
    [first, second] = harness.history[2].parts
    assert isinstance(first, ToolResult)
    assert NOT_VALID_JSON in first.text
    assert second == ToolResult("c1", '{"a": 1}')


async def test_thinking_that_uses_up_the_limit_is_followed_by_a_request_to_answer() -> None:
    cut = ModelRound([ThinkingDelta("Hm.")], "max_tokens")
    harness = TurnHarness(RoundModel(cut, DONE))
    assert await harness.run() == "end_turn"
    assert harness.history[2] == UserMessage((Text(ANSWER_AFTER_THINKING),))


@pytest.mark.parametrize(
    ("arguments", "kept"),
    [
        ("", "{}"),
        ("{", "{}"),
        ('{"a": "b', "{}"),
        ('{"a": "b", "c": [1, {"d": "e"}, {"f": "', '{"a": "b", "c": [1, {"d": "e"}, {}]}'),
        ("[1, 2", "{}"),
        ('{"a" 1', "{}"),
        ('{"a": NaN, "b": "', "{}"),
        ('{"a": ' + "[" * 100_000, "{}"),
    ],
    ids=["none", "brace", "first", "nested", "list", "wrong", "no number", "deep"],
)
def test_of_cut_arguments_the_whole_values_are_kept_as_valid_json(
    arguments: str, kept: str
) -> None:
    assert whole_values(arguments) == kept


# Empty answers.


@pytest.mark.parametrize("stop", ["end_turn", "tool_use"])
@pytest.mark.parametrize(
    "events", [[], [TextDelta(" \n")], [ThinkingDelta("Hm.")]], ids=["empty", "blank", "thought"]
)
async def test_a_model_that_says_nothing_is_asked_once_more(
    events: list[ModelEvent], stop: ModelStop
) -> None:
    harness = TurnHarness(RoundModel(ModelRound(events, stop), DONE))
    assert await harness.run() == "end_turn"
    again = UserMessage((Text(ANSWER_AFTER_NOTHING),))
    assert harness.history == [HI, NOTHING, again, AssistantMessage((Text("Done."),))]


async def test_a_second_empty_answer_ends_the_turn_and_the_user_learns_it() -> None:
    model = RoundModel(ModelRound())
    harness = TurnHarness(model)
    assert await harness.run() == "end_turn"
    assert len(model.requests) == 2
    assert [chunk.text for chunk in chunks(harness)] == [SAID_NOTHING]
    assert harness.history[-1] == NOTHING


async def test_an_answer_in_between_allows_another_question() -> None:
    empty, call = ModelRound(), ModelRound(tool_call_events(CALL), "tool_use")
    harness = TurnHarness(RoundModel(empty, call, empty, DONE), FunctionTools(echo=echo_arguments))
    assert await harness.run() == "end_turn"
    assert [chunk.text for chunk in chunks(harness)] == ["Done."]


async def test_the_rest_of_an_answer_may_be_empty() -> None:
    model = RoundModel(ModelRound([TextDelta("One.")], "max_tokens"), ModelRound())
    harness = TurnHarness(model)
    assert await harness.run() == "end_turn"
    assert len(model.requests) == 2


async def test_an_empty_pause_is_continued_with_the_same_history() -> None:
    model = RoundModel(ModelRound([], "pause"), DONE)
    harness = TurnHarness(model)
    assert await harness.run() == "end_turn"
    assert model.requests[0] == model.requests[1]


@pytest.mark.parametrize("stop", ["refusal", "content_filter"])
async def test_a_refusal_and_a_content_filter_end_the_turn_with_their_own_message(
    stop: ModelStop,
) -> None:
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("No")], stop)))
    assert await harness.run() == "refusal"
    assert notices(harness) == [REFUSALS[stop]]
    assert harness.history == [HI, AssistantMessage((Text("No"),))]
