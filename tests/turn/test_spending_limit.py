"""The cost limit of a session: reached, asked about, and extended."""

from dataclasses import replace

import anyio
import pytest

from acp_server.turn.conversation import AssistantMessage, ToolCall, ToolResult, UserMessage
from acp_server.turn.errors import CostLimitError
from acp_server.turn.events import NoticeRaised, Usage
from acp_server.turn.ports import ModelEvent, TextDelta, UsageReported
from acp_server.turn.spending_limit import PRICE_UNKNOWN, SpendingLimit
from tests.turn.test_repetition import FakeContinueAsker
from tests.turn.turn_harness import (
    HI,
    CharacterMeter,
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    echo_arguments,
    tool_call_events,
)


def cost(dollars: int) -> ModelEvent:
    """Return the event of a request that costs this much (a dollar per output token)."""
    return UsageReported(Usage(output_tokens=dollars))


def make_harness(
    *answers: bool | None, dollars: int = 2, calls: int = 9, has_prices: bool = True
) -> tuple[TurnHarness, FakeContinueAsker]:
    """Return a harness with a limit of 4 dollars, whose model makes calls and then ends."""
    rounds = [
        ModelRound(
            [*tool_call_events(ToolCall(f"c{n}", "echo", f'{{"n": {n}}}')), cost(dollars)],
            "tool_use",
        )
        for n in range(calls)
    ]
    harness = TurnHarness(
        RoundModel(*rounds, ModelRound([TextDelta("Done."), cost(dollars)])),
        FunctionTools(echo=echo_arguments),
        meter=CharacterMeter(has_prices=has_prices),
        max_requests=50,
    )
    asker = FakeContinueAsker([*answers])
    harness.context = replace(
        harness.context,
        spending_limit=SpendingLimit(4.0),
        continue_asker=asker if answers else None,
    )
    return harness, asker


async def test_the_user_is_asked_before_the_request_that_would_exceed_the_limit() -> None:
    harness, asker = make_harness(False)  # noqa: FBT003  the user's answers
    assert await harness.run() == "end_turn"
    assert harness.usage.cost_usd == 4.0
    [reason] = asker.reasons
    assert "cost 4.00 USD" in reason
    assert "max_cost" in reason
    # Stopped behind the results, which a provider accepts together with a note.
    assert isinstance(harness.history[-2], UserMessage)
    assert isinstance(harness.history[-2].parts[0], ToolResult)
    assert isinstance(harness.history[-1], AssistantMessage)


async def test_a_user_who_continues_is_asked_again_after_another_such_amount() -> None:
    harness, asker = make_harness(True, True, False)  # noqa: FBT003  the user's answers
    assert await harness.run() == "end_turn"
    assert harness.usage.cost_usd == 12.0
    assert [reason.split(" USD")[0] for reason in asker.reasons] == [
        f"the session has cost {dollars:.2f}" for dollars in (4, 8, 12)
    ]


async def test_the_limit_counts_all_turns_of_a_session() -> None:
    harness, asker = make_harness(False, dollars=4, calls=0)  # noqa: FBT003  the user's answer
    assert await harness.run() == "end_turn"
    assert asker.reasons == []
    assert await harness.run() == "end_turn"
    assert len(asker.reasons) == 1
    assert [type(message) for message in harness.history] == [UserMessage, AssistantMessage] * 2


@pytest.mark.parametrize("answers", [(), (None,)], ids=["no asker", "nobody there"])
async def test_without_a_user_the_turn_fails_at_the_limit(answers: tuple[None, ...]) -> None:
    harness, _ = make_harness(*answers)
    with pytest.raises(CostLimitError, match="max_cost"):
        await harness.run()
    assert harness.usage.cost_usd == 4.0
    assert isinstance(harness.history[-1], AssistantMessage)


async def test_a_cancelled_question_leaves_a_complete_history() -> None:
    is_asked = anyio.Event()

    class SlowUser:
        async def ask_to_continue(self, title: str, reason: str) -> bool | None:
            assert title
            assert reason
            is_asked.set()
            await anyio.sleep_forever()
            return None

    harness, _ = make_harness(dollars=4, calls=0)
    await harness.run()
    harness.context = replace(harness.context, continue_asker=SlowUser())
    await harness.run_and_cancel_at(is_asked)
    assert harness.history[2] == HI
    assert isinstance(harness.history[3], AssistantMessage)


async def test_an_unknown_price_is_said_once_and_stops_nothing() -> None:
    harness, asker = make_harness(False, has_prices=False)  # noqa: FBT003  the user's answer
    assert await harness.run() == "end_turn"
    assert asker.reasons == []
    events = harness.sink.events
    assert [each.title for each in events if isinstance(each, NoticeRaised)] == [PRICE_UNKNOWN]
