"""A turn that is cancelled, wherever it is: what was said stays, and nothing is left open."""

from collections.abc import Sequence

import anyio
import pytest

from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.errors import ModelInterruptedError
from acp_server.turn.events import CallAppeared, CallChanged, Event, MessageChunk, ThoughtChunk
from acp_server.turn.loop import CANCELLED
from acp_server.turn.ports import (
    ModelEvent,
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import THERE_WAS_NO_ANSWER
from tests.turn.turn_harness import (
    HI,
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    echo_arguments,
    final_call_change,
    hang,
    tool_call_events,
)

NO_ANSWER = Text(f"{THERE_WAS_NO_ANSWER} {CANCELLED})")
CALL = ToolCall("c1", "echo", "{}")


@pytest.mark.parametrize(
    ("events", "kept"),
    [
        ([], (NO_ANSWER,)),
        ([ThinkingDelta("Hm")], (NO_ANSWER,)),
        ([ThinkingDelta("Hm"), ThinkingSigned("signature")], (NO_ANSWER,)),
        ([TextDelta("Hel")], (Text("Hel"),)),
        (
            [ThinkingDelta("Hm"), ThinkingSigned("signature"), TextDelta("Hel")],
            (Thinking("Hm", "signature"), Text("Hel")),
        ),
        ([ToolCallStarted("c1", "echo")], (NO_ANSWER,)),
        ([TextDelta("Hel"), ToolCallStarted("c1", "echo")], (Text("Hel"),)),
        (
            [TextDelta("Hel"), ToolCallStarted("c1", "echo"), ToolCallDelta("c1", '{"')],
            (Text("Hel"),),
        ),
        ([TextDelta("Hel"), *tool_call_events(CALL)], (Text("Hel"),)),
        ([ThinkingDelta("Hm"), ThinkingSigned("signature"), *tool_call_events(CALL)], (NO_ANSWER,)),
    ],
)
async def test_the_text_of_a_cancelled_model_is_kept_without_its_calls(
    events: Sequence[ModelEvent], kept: tuple[ReplyPart, ...]
) -> None:
    model = RoundModel(ModelRound(events, None))
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(model, tools)
    await harness.run_and_cancel_at(model.is_blocked)
    assert harness.history == [HI, AssistantMessage(kept)]
    assert open_calls(harness.sink.events) == []
    assert tools.started_call_ids == []


async def test_a_call_cancelled_while_its_arguments_arrive_is_shown_as_failed() -> None:
    events = [ThinkingDelta("Hm"), TextDelta("Hel"), ToolCallStarted("c1", "echo")]
    model = RoundModel(ModelRound(events, None))
    harness = TurnHarness(model, FunctionTools(echo=echo_arguments))
    await harness.run_and_cancel_at(model.is_blocked)
    assert harness.sink.events == [
        ThoughtChunk("m1", "Hm"),
        MessageChunk("m2", "Hel"),
        CallAppeared("c1", "echo"),
        final_call_change("c1", "failed", CANCELLED),
    ]


async def test_running_calls_that_are_cancelled_still_have_results() -> None:
    """One had ended, one hangs, one was broken from the start."""
    calls = (
        ToolCall("c1", "echo", '{"a": 1}'),
        ToolCall("c2", "wait", "{}"),
        ToolCall("c3", "echo", "{"),
    )
    waits = anyio.Event()

    async def wait(call: ToolCall) -> str:
        await anyio.wait_all_tasks_blocked()
        waits.set()
        return await hang(call)

    harness = TurnHarness(
        RoundModel(ModelRound(tool_call_events(*calls), "tool_use")),
        FunctionTools(echo=echo_arguments, wait=wait),
    )
    await harness.run_and_cancel_at(waits)
    broken = (
        "the arguments are not valid JSON (Expecting property name enclosed in double quotes: "
        "line 1 column 2 (char 1)); make the call again, whole"
    )
    assert harness.history == [
        HI,
        AssistantMessage(calls),
        UserMessage(
            (
                ToolResult("c1", '{"a": 1}'),
                ToolResult("c2", CANCELLED, is_error=True),
                ToolResult("c3", broken, is_error=True),
            )
        ),
    ]
    assert harness.sink.events[-1] == final_call_change("c2", "failed", CANCELLED)
    assert open_calls(harness.sink.events) == []


async def test_a_tool_that_fails_during_cancellation_has_one_result() -> None:
    waits = anyio.Event()

    async def wait(call: ToolCall) -> str:
        waits.set()
        try:
            return await hang(call)
        finally:
            raise OSError("broken pipe")

    call = ToolCall("c1", "wait", "{}")
    harness = TurnHarness(
        RoundModel(ModelRound(tool_call_events(call), "tool_use")), FunctionTools(wait=wait)
    )
    await harness.run_and_cancel_at(waits)
    assert [part for part in harness.history[2].parts if isinstance(part, ToolResult)] == [
        ToolResult("c1", "OSError: broken pipe", is_error=True)
    ]
    assert open_calls(harness.sink.events) == []


async def test_a_turn_cancelled_while_waiting_to_continue_keeps_its_text() -> None:
    class CutOff:
        def __init__(self) -> None:
            self.is_cut = anyio.Event()

        async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
            del request
            await receive(TextDelta("One"))
            self.is_cut.set()
            raise ModelInterruptedError("broken")

    model = CutOff()
    harness = TurnHarness(model)
    await harness.run_and_cancel_at(model.is_cut)
    assert harness.history[:2] == [HI, AssistantMessage((Text("One"),))]


async def test_a_turn_cancelled_at_any_point_leaves_a_valid_history_and_no_open_call() -> None:
    """Every point at which a turn of three answers and four calls can be stopped."""
    last = ModelRound([TextDelta("Done.")])
    for points in range(1, 1000):
        calls = [ToolCall(f"c{number}", "pause", "{}") for number in range(4)]
        reply = [
            ThinkingDelta("Hm"),
            ThinkingSigned("signature"),
            TextDelta("Well"),
            *tool_call_events(*calls),
        ]
        cut = ModelRound([TextDelta("I")], ModelInterruptedError("broken"))
        harness = TurnHarness(
            YieldingModel(cut, ModelRound(reply, "tool_use"), last), FunctionTools(pause=pause)
        )
        is_over = await run_for(harness, points)
        assert harness.history[0] == HI
        assert open_calls(harness.sink.events) == []
        assert isinstance(harness.history[-1], AssistantMessage) or points_at_results(harness)
        if is_over:
            assert points > 20
            assert harness.history[-1] == AssistantMessage((Text("Done."),))
            return
    pytest.fail("the turn does not end")


async def test_no_tool_starts_after_a_turn_is_cancelled() -> None:
    """Also when the model would not be cancelled and ends with a call."""
    model = Uncancellable(ModelRound(tool_call_events(ToolCall("c1", "echo", "{}")), "tool_use"))
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(model, tools)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(harness.make_turn().run, HI)
            await model.is_blocked.wait()
            tasks.cancel_scope.cancel()
            model.may_end.set()
    assert tools.started_call_ids == []
    assert harness.history[1:] == [
        AssistantMessage((ToolCall("c1", "echo", "{}"),)),
        UserMessage((ToolResult("c1", CANCELLED, is_error=True),)),
    ]


# Given up while something ignores being cancelled.


async def test_a_turn_is_settled_while_a_call_ignores_cancellation() -> None:
    started, may_end = anyio.Event(), anyio.Event()

    async def stay(call: ToolCall) -> str:
        with anyio.move_on_after(HANG_TIMEOUT_SECONDS, shield=True):
            started.set()
            await may_end.wait()
        return f"{call.id} is too late"

    call = ToolCall("c1", "stay", "{}")
    harness = TurnHarness(
        RoundModel(ModelRound(tool_call_events(call), "tool_use")), FunctionTools(stay=stay)
    )
    turn, settled = harness.make_turn(), list[Message]()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.run, HI)
            await started.wait()
            tasks.cancel_scope.cancel()
            turn.flush()
            settled = harness.history
            harness.conversation.append(HI)
            may_end.set()
    assert settled == [
        HI,
        AssistantMessage((call,)),
        UserMessage((ToolResult("c1", CANCELLED, is_error=True),)),
    ]
    assert harness.history == [*settled, HI]


async def test_a_turn_is_settled_while_a_model_ignores_cancellation_during_a_call() -> None:
    model = Uncancellable(
        ModelRound(
            [TextDelta("Well"), ToolCallStarted("c1", "echo"), ToolCallCompleted("c1")], "tool_use"
        )
    )
    tools = FunctionTools(echo=echo_arguments)
    harness = TurnHarness(model, tools)
    turn, settled = harness.make_turn(), list[Message]()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.run, HI)
            await model.is_blocked.wait()
            tasks.cancel_scope.cancel()
            turn.flush()
            settled = harness.history
            model.may_end.set()
    assert settled == [HI, AssistantMessage((Text("Well"),))]
    assert (harness.history, tools.started_call_ids) == (settled, [])


class YieldingModel(RoundModel):
    """Waits a moment before each event, so that it can be stopped there."""

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Play slowly."""

        async def receive_slowly(event: ModelEvent) -> None:
            await anyio.lowlevel.checkpoint()
            await receive(event)

        return await super().respond(request, receive_slowly)


class Uncancellable(RoundModel):
    """Streams a round, then waits for the test, whatever happens, and stops as the round says."""

    def __init__(self, playing: ModelRound) -> None:
        super().__init__(playing)
        self.may_end = anyio.Event()

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Play and wait."""
        with anyio.move_on_after(HANG_TIMEOUT_SECONDS, shield=True):
            stop = await super().respond(request, receive)
            self.is_blocked.set()
            await self.may_end.wait()
            return stop
        return "end_turn"


async def pause(call: ToolCall) -> str:
    """A tool that takes a moment."""
    await anyio.lowlevel.checkpoint()
    return call.id


async def run_for(harness: TurnHarness, steps: int) -> bool:
    """Run a turn, cancel it after so many steps of the event loop; return whether it had ended."""
    has_ended = False

    async def run() -> None:
        nonlocal has_ended
        await harness.make_turn().run(HI)
        has_ended = True

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        for _ in range(steps):
            await anyio.lowlevel.checkpoint()
        tasks.cancel_scope.cancel()
    return has_ended


def points_at_results(harness: TurnHarness) -> bool:
    """Whether a history ends in the results of calls."""
    return all(isinstance(part, ToolResult) for part in harness.history[-1].parts)


def open_calls(events: Sequence[Event]) -> list[str]:
    """The calls that appeared and did not end, or ended twice."""
    appeared = [event.call_id for event in events if isinstance(event, CallAppeared)]
    ended = [
        event.call_id
        for event in events
        if isinstance(event, CallChanged) and event.status in {"completed", "failed"}
    ]
    return [call_id for call_id in appeared if ended.count(call_id) != 1]
