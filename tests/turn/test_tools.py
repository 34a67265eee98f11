"""Tool calls: run together, each told as it ends, and all of them told to the model."""

from dataclasses import replace

import anyio
import pytest

from acp_server.turn.conversation import (
    AssistantMessage,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.events import CallAppeared, CallChanged, MessageChunk, ThoughtChunk
from acp_server.turn.ports import (
    ModelRequest,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)
from tests.support.user_texts import ARGUMENTS_NOT_VALID_JSON, MUST_BE_JSON_OBJECT
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

BROKEN = ARGUMENTS_NOT_VALID_JSON
AGAIN = "; make the call again, whole"
DONE = ModelRound([TextDelta("Done.")])


async def test_a_call_is_shown_run_and_answered_and_the_model_continues() -> None:
    call = ToolCall("c1", "echo", '{"a": 1}')
    model = RoundModel(
        ModelRound(
            [
                ThinkingDelta("Hm."),
                ThinkingSigned("signature"),
                TextDelta("Let me see."),
                *tool_call_events(call),
            ],
            "tool_use",
        ),
        DONE,
    )
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(model, tools)
    assert await harness.run() == "end_turn"
    assert harness.sink.events == [
        ThoughtChunk("m1", "Hm."),
        MessageChunk("m2", "Let me see."),
        CallAppeared("c1", "echo"),
        CallChanged("c1", "in_progress"),
        final_call_change("c1", "completed", '{"a": 1}'),
        MessageChunk("m3", "Done."),
    ]
    message = AssistantMessage((Thinking("Hm.", "signature"), Text("Let me see."), call))
    result = UserMessage((ToolResult("c1", '{"a": 1}'),))
    assert model.requests == [
        ModelRequest((HI,), tools=tools.specs),
        ModelRequest((HI, message, result), tools=tools.specs),
    ]
    assert harness.history == [HI, message, result, AssistantMessage((Text("Done."),))]


async def test_parallel_calls_are_shown_as_they_end() -> None:
    """The first one waits for the last one; results keep the order of the calls."""
    ended = {name: anyio.Event() for name in "abc"}
    waits_for = {"a": ["b", "c"], "b": ["c"], "c": list[str]()}

    async def work(call: ToolCall) -> str:
        for other in waits_for[call.id]:
            await ended[other].wait()
        ended[call.id].set()
        return f"{call.id} is done"

    calls = [ToolCall(name, "work", "{}") for name in "abc"]
    harness = TurnHarness(
        RoundModel(ModelRound(tool_call_events(*calls), "tool_use"), DONE), FunctionTools(work=work)
    )
    assert await harness.run() == "end_turn"
    changes = [event for event in harness.sink.events if isinstance(event, CallChanged)]
    assert sorted(change.call_id for change in changes[:3]) == ["a", "b", "c"]
    assert changes[3:] == [
        final_call_change(name, "completed", f"{name} is done") for name in "cba"
    ]
    assert harness.history[2] == UserMessage(
        tuple(ToolResult(name, f"{name} is done") for name in "abc")
    )


async def test_arguments_of_several_calls_may_arrive_interleaved() -> None:
    events = [
        ToolCallStarted("c1", "echo"),
        ToolCallStarted("c2", "echo"),
        ToolCallDelta("c2", '{"b"'),
        ToolCallDelta("c1", '{"a": 1}'),
        ToolCallCompleted("c1"),
        ToolCallDelta("c2", ": 2}"),
        ToolCallCompleted("c2"),
    ]
    harness = TurnHarness(
        RoundModel(ModelRound(events, "tool_use"), DONE), FunctionTools(echo=echo_arguments)
    )
    await harness.run()
    assert harness.history[1] == AssistantMessage(
        (ToolCall("c1", "echo", '{"a": 1}'), ToolCall("c2", "echo", '{"b": 2}'))
    )


async def test_a_call_without_arguments_has_an_empty_object() -> None:
    events = [ToolCallStarted("c1", "echo"), ToolCallCompleted("c1")]
    harness = TurnHarness(
        RoundModel(ModelRound(events, "tool_use"), DONE), FunctionTools(echo=echo_arguments)
    )
    await harness.run()
    assert harness.history[1:3] == [
        AssistantMessage((ToolCall("c1", "echo", ""),)),
        UserMessage((ToolResult("c1", ""),)),
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ('{"a": ', f"{BROKEN} (Expecting value: line 1 column 7 (char 6)){AGAIN}"),
        ("[1]", f"the arguments {MUST_BE_JSON_OBJECT}"),
        ("null", f"the arguments {MUST_BE_JSON_OBJECT}"),
    ],
)
async def test_a_call_with_invalid_arguments_is_not_run_and_the_model_is_informed(
    arguments: str, problem: str
) -> None:
    call, good = ToolCall("c1", "echo", arguments), ToolCall("c2", "echo", "{}")
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(
        RoundModel(ModelRound(tool_call_events(call, good), "tool_use"), DONE), tools
    )
    assert await harness.run() == "end_turn"
    assert tools.started_call_ids == ["c2"]
    assert final_call_change("c1", "failed", problem) in harness.sink.events
    assert CallChanged("c1", "in_progress") not in harness.sink.events
    assert harness.history[1:3] == [
        AssistantMessage((call, good)),
        UserMessage((ToolResult("c1", problem, is_error=True), ToolResult("c2", "{}"))),
    ]


@pytest.mark.parametrize(
    "arguments",
    ['{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud83d"}', '{"a": ' + "[" * 100_000],
    ids=["no number", "endless number", "half a character", "too deep"],
)
async def test_arguments_that_cannot_be_sent_back_are_invalid(arguments: str) -> None:
    call = ToolCall("c1", "echo", arguments)
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(RoundModel(ModelRound(tool_call_events(call), "tool_use"), DONE), tools)
    assert await harness.run() == "end_turn"
    [result] = harness.history[2].parts
    assert isinstance(result, ToolResult)
    assert (result.is_error, tools.started_call_ids) == (True, [])
    assert result.text.startswith(f"{BROKEN} (")
    assert result.text.endswith(AGAIN)


async def test_a_tool_that_raises_is_a_failed_call_and_the_others_continue() -> None:
    async def divide(call: ToolCall) -> str:
        return str(1 / len(call.name[6:]))

    calls = ToolCall("c1", "divide", "{}"), ToolCall("c2", "echo", "{}")
    harness = TurnHarness(
        RoundModel(ModelRound(tool_call_events(*calls), "tool_use"), DONE),
        FunctionTools(divide=divide, echo=echo_arguments),
    )
    assert await harness.run() == "end_turn"
    problem = "ZeroDivisionError: division by zero"
    assert final_call_change("c1", "failed", problem) in harness.sink.events
    assert harness.history[2] == UserMessage(
        (ToolResult("c1", problem, is_error=True), ToolResult("c2", "{}"))
    )


async def test_a_partial_call_after_a_complete_one_is_closed_and_the_complete_one_runs() -> None:
    complete = ToolCall("c1", "echo", "{}")
    half = [ToolCallStarted("c2", "echo"), ToolCallDelta("c2", '{"a')]
    harness = TurnHarness(
        RoundModel(ModelRound([*tool_call_events(complete), *half], "tool_use"), DONE),
        FunctionTools(echo=echo_arguments),
    )
    assert await harness.run() == "end_turn"
    ends = [each for each in harness.sink.events if isinstance(each, CallChanged)]
    assert [(each.call_id, each.status) for each in ends] == [
        ("c2", "failed"),
        ("c1", "in_progress"),
        ("c1", "completed"),
    ]
    assert harness.history[1] == AssistantMessage((complete,))


async def test_pending_notices_follow_the_prompt_and_the_results() -> None:
    call = ToolCall("c1", "echo", "{}")
    model = RoundModel(ModelRound(tool_call_events(call), "tool_use"), DONE)
    harness = TurnHarness(model, FunctionTools(echo=echo_arguments))
    notices = [["[before]"], ["[meanwhile]"]]
    harness.context = replace(harness.context, take_notices=lambda: notices.pop(0))
    await harness.run()
    first, _, results, _ = harness.history
    assert first == UserMessage((*HI.parts, Text("[before]")))
    assert results == UserMessage((ToolResult("c1", "{}"), Text("[meanwhile]")))
    assert user_words(harness.history) == ["hi"]
