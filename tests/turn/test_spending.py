"""What a turn uses is counted by call, and told with how full the window is."""

import pytest

from acp_server.turn.conversation import ToolCall
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import ContextMeasured, Event, NoticeRaised, Usage
from acp_server.turn.ports import Retrying, TextDelta, UsageReported
from acp_server.turn.usage_totals import UsageTotals
from tests.turn.turn_harness import (
    CharacterMeter,
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    echo_arguments,
    tool_call_events,
)

USAGE = Usage(1, 2, 4, 8, 16)


def measures(events: list[Event]) -> list[ContextMeasured]:
    return [event for event in events if isinstance(event, ContextMeasured)]


async def test_the_last_usage_report_of_a_call_is_reported_when_it_ends() -> None:
    reports = [UsageReported(Usage(1)), TextDelta("Hi"), UsageReported(USAGE)]
    harness = TurnHarness(RoundModel(ModelRound(reports)), meter=CharacterMeter(window_tokens=100))
    await harness.run()
    assert harness.sink.events[1:] == [ContextMeasured(31, 100, 2.0)]
    assert harness.usage == UsageTotals(USAGE, 1, 2.0)


async def test_the_next_request_is_counted_from_the_last_usage_report() -> None:
    report = UsageReported(Usage(200, 30))
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("Hi"), report])))
    await harness.run()
    request = harness.context.metered_request(harness.conversation)
    assert harness.context.counter.count(request) == 230


async def test_usage_adds_up_over_the_calls_of_a_turn_and_session() -> None:
    """Each measure has the window of its call, and the cost of all calls until then."""
    call = ToolCall("c1", "echo", "{}")
    model = RoundModel(
        ModelRound([*tool_call_events(call), UsageReported(Usage(10, 1))], "tool_use"),
        ModelRound([TextDelta("Done."), UsageReported(Usage(20, 2))]),
    )
    harness = TurnHarness(
        model, FunctionTools(echo=echo_arguments), meter=CharacterMeter(window_tokens=100)
    )
    await harness.run()
    await harness.run()
    assert measures(harness.sink.events) == [
        ContextMeasured(11, 100, 1.0),
        ContextMeasured(22, 100, 3.0),
        ContextMeasured(22, 100, 5.0),
    ]
    assert harness.usage == UsageTotals(Usage(50, 5), 3, 5.0)


async def test_a_failed_or_cancelled_call_still_counts_as_used() -> None:
    report = [UsageReported(USAGE)]
    failing = TurnHarness(RoundModel(ModelRound(report, ModelFailedError("x"))))
    with pytest.raises(ModelFailedError):
        await failing.run()
    model = RoundModel(ModelRound(report, None))
    cancelled = TurnHarness(model)
    await cancelled.run_and_cancel_at(model.is_blocked)
    for harness in (failing, cancelled):
        assert harness.usage == UsageTotals(USAGE, 1, 2.0)
        assert len(measures(harness.sink.events)) == 1


async def test_a_model_without_usage_reports_has_no_usage() -> None:
    harness = TurnHarness(RoundModel(ModelRound([TextDelta("Hi")])))
    await harness.run()
    assert (harness.usage, measures(harness.sink.events)) == (UsageTotals(), [])


async def test_an_unknown_price_gives_no_cost() -> None:
    harness = TurnHarness(
        RoundModel(ModelRound([TextDelta("Hi"), UsageReported(USAGE)])),
        meter=CharacterMeter(window_tokens=100, has_prices=False),
    )
    await harness.run()
    assert measures(harness.sink.events) == [ContextMeasured(31, 100, None)]
    assert harness.usage == UsageTotals(USAGE, 1, None)


def test_usage_since_a_point_is_the_difference() -> None:
    totals = UsageTotals()
    nothing = totals.copy()
    assert totals.since(nothing) == UsageTotals()
    totals.add(USAGE, 2.0)
    before = totals.copy()
    totals.add(Usage(1, 1), 1.0)
    assert totals.since(before) == UsageTotals(Usage(1, 1), 1, 1.0)
    assert totals.since(nothing) == UsageTotals(Usage(2, 3, 4, 8, 16), 2, 3.0)
    assert before == UsageTotals(USAGE, 1, 2.0)


@pytest.mark.parametrize(
    ("wait_seconds", "wait"), [(0.2, "a moment"), (1.0, "1 s"), (2.4, "2 s"), (60.0, "60 s")]
)
async def test_a_retry_is_reported_with_its_cause(wait_seconds: float, wait: str) -> None:
    harness = TurnHarness(
        RoundModel(ModelRound([Retrying("overloaded", wait_seconds, 2, 5), TextDelta("Hi")]))
    )
    await harness.run()
    assert harness.sink.events[0] == NoticeRaised(
        "warning", f"overloaded; retrying in {wait} (attempt 2 of 5)", "m1"
    )


def test_costs_are_added_without_float_noise() -> None:
    totals = UsageTotals()
    totals.add(USAGE, 0.1)
    before = totals.copy()
    totals.add(USAGE, 0.2)
    assert (totals.cost_usd, totals.since(before).cost_usd) == (0.3, 0.2)
