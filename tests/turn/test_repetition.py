"""A model that repeats itself: noted in the results, then decided by the user."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from acp_server.turn.call_access import CallAccess
from acp_server.turn.conversation import ToolCall, ToolResult
from acp_server.turn.errors import RepeatedCallError
from acp_server.turn.ports import TextDelta
from acp_server.turn.repetition import (
    ASKED_COUNT,
    ASKED_REASON,
    REPEATED,
    STOPPED,
    RepetitionDetector,
    describe_call,
)
from tests.turn.test_invariants import WaitingInput
from tests.turn.turn_harness import (
    FunctionTools,
    ModelRound,
    RoundModel,
    TurnHarness,
    tool_call_events,
)

DONE = ModelRound([TextDelta("Done.")])


@dataclass
class FakeContinueAsker:
    """Gives these answers in order, and notes the reasons."""

    answers: list[bool | None]
    reasons: list[str] = field(default_factory=list[str])

    async def ask_to_continue(self, title: str, reason: str) -> bool | None:
        assert title
        self.reasons.append(reason)
        return self.answers.pop(0)


async def fail(call: ToolCall) -> str:
    """Return the same for the same arguments; a tool function."""
    return f"no {call.arguments}"


def make_harness(
    arguments: Sequence[str],
    answers: Sequence[bool | None] = (False,),
    tools: FunctionTools | None = None,
) -> tuple[TurnHarness, FakeContinueAsker]:
    """Return a harness whose model makes one call per request, then ends."""
    calls = [ToolCall(f"c{number}", "look", text) for number, text in enumerate(arguments)]
    rounds = [ModelRound(tool_call_events(call), "tool_use") for call in calls]
    harness = TurnHarness(
        RoundModel(*rounds, DONE), tools or FunctionTools(look=fail), max_requests=100
    )
    asker = FakeContinueAsker([*answers])
    harness.context = replace(harness.context, continue_asker=asker if answers else None)
    return harness, asker


def results(harness: TurnHarness) -> list[str]:
    """Return the results, as the model received them."""
    parts = [part for message in harness.history for part in message.parts]
    return [part.text for part in parts if isinstance(part, ToolResult)]


async def test_the_third_and_fourth_identical_call_are_told_that_repeating_is_useless() -> None:
    harness, _ = make_harness(['{"a": 1}'] * 4)
    assert await harness.run() == "end_turn"
    notes = [text.removeprefix('no {"a": 1}').strip() for text in results(harness)]
    assert notes == ["", "", REPEATED.format(count=3), REPEATED.format(count=4)]


async def test_after_the_fifth_the_user_decides_and_may_stop_the_turn() -> None:
    harness, asker = make_harness(["{}"] * 60)
    assert await harness.run() == "end_turn"
    assert asker.reasons == [ASKED_REASON.format(count=ASKED_COUNT, call="look {}")]
    assert len(results(harness)) == ASKED_COUNT
    assert results(harness)[-1].endswith(STOPPED)


async def test_a_user_who_lets_it_continue_is_asked_again_after_five_more() -> None:
    harness, asker = make_harness(["{}"] * 60, (True, False))
    assert await harness.run() == "end_turn"
    assert len(asker.reasons) == 2
    assert len(results(harness)) == 2 * ASKED_COUNT


@pytest.mark.parametrize("answers", [(), (None,)], ids=["no asker", "nobody there"])
async def test_without_a_user_the_turn_fails_with_the_repeated_call(
    answers: tuple[None, ...],
) -> None:
    harness, _ = make_harness(['{"path": "nope.py"}'] * 60, answers)
    with pytest.raises(RepeatedCallError, match=r'5 times.*look \{"path": "nope.py"\}'):
        await harness.run()
    assert len(results(harness)) == ASKED_COUNT  # the history is complete


@pytest.mark.parametrize("size", [2, 3])
async def test_calls_that_take_turns_are_repeated_too(size: int) -> None:
    texts = [f'{{"a": {number}}}' for number in range(size)]
    harness, asker = make_harness(texts * 20)
    assert await harness.run() == "end_turn"
    assert len(asker.reasons) == 1
    assert len(results(harness)) == size * (ASKED_COUNT - 1) + 1


async def test_the_same_check_after_different_edits_is_no_repetition() -> None:
    texts = [text for number in range(10) for text in ('{"check": 1}', f'{{"edit": {number}}}')]
    harness, asker = make_harness(texts)
    assert await harness.run() == "end_turn"
    assert asker.reasons == []
    assert not any("same result" in text for text in results(harness))


async def test_a_call_with_a_new_result_each_time_is_no_repetition() -> None:
    count = 0

    async def look(call: ToolCall) -> str:
        nonlocal count
        count += 1
        return f"{call.name} {count}"

    harness, asker = make_harness(["{}"] * 10, tools=FunctionTools(look=look))
    assert await harness.run() == "end_turn"
    assert asker.reasons == []


async def test_waiting_and_polling_may_be_repeated() -> None:
    tools = FunctionTools(look=fail)
    tools.accesses = {"look": CallAccess("reads", is_polling=True)}
    harness, asker = make_harness(["{}"] * 20, tools=tools)
    assert await harness.run() == "end_turn"
    assert asker.reasons == []
    assert results(harness) == ["no {}"] * 20


async def test_equal_calls_of_one_reply_count_once() -> None:
    calls = [ToolCall(f"c{number}", "look", "{}") for number in range(10)]
    harness = TurnHarness(
        RoundModel(ModelRound(tool_call_events(*calls), "tool_use"), DONE),
        FunctionTools(look=fail),
    )
    assert await harness.run() == "end_turn"
    assert results(harness) == ["no {}"] * 10


async def test_input_of_the_user_starts_the_count_anew() -> None:
    harness, asker = make_harness(["{}"] * 4)
    waiting = WaitingInput([])
    original, count = harness.context.toolbox, 0

    async def look(call: ToolCall) -> str:
        nonlocal count
        count += 1
        if count == 2:
            waiting.texts = ["try again"]
        return f"no {call.arguments}"

    assert isinstance(original, FunctionTools)
    harness.context = replace(
        harness.context, toolbox=FunctionTools(look=look), mid_turn_input=waiting
    )
    assert await harness.run() == "end_turn"
    assert asker.reasons == []
    assert not any("same result" in text for text in results(harness))


@pytest.mark.parametrize(
    ("first", "second", "is_same"),
    [
        ("2 failed in 0.31s", "2 failed in 12.07s", True),
        ("<A object at 0x7f00aa>", "<A object at 0x7f11bb>", True),
        ("10 % done", "20 % done", False),
        ("a", "b", False),
    ],
)
def test_results_that_differ_in_durations_or_addresses_only_are_the_same(
    first: str, second: str, *, is_same: bool
) -> None:
    detector = RepetitionDetector()
    counts = [
        detector.count([(ToolCall(call_id, "look", "{}"), ToolResult(call_id, text))])[call_id]
        for call_id, text in (("c1", first), ("c2", second))
    ]
    assert counts == [1, 2 if is_same else 1]


def test_the_same_arguments_in_another_order_are_the_same_call() -> None:
    detector = RepetitionDetector()
    calls = ToolCall("c1", "look", '{"a": 1, "b": 2}'), ToolCall("c2", "look", '{"b":2,"a":1}')
    counts = [detector.count([(call, ToolResult(call.id, ""))])[call.id] for call in calls]
    assert counts == [1, 2]


def test_a_long_call_is_described_on_one_short_line() -> None:
    text = describe_call(ToolCall("c1", "write_file", '{"content": "' + "a \\n b\n" * 500 + '"}'))
    assert "\n" not in text
    assert len(text) < 250


async def test_a_prompt_of_its_own_starts_the_count_anew() -> None:
    harness, asker = make_harness(["{}"] * 2)
    await harness.run()
    calls = [ToolCall(f"d{number}", "look", "{}") for number in range(2)]
    rounds = [ModelRound(tool_call_events(call), "tool_use") for call in calls]
    harness.context = replace(harness.context, model=RoundModel(*rounds, DONE))
    await harness.run()
    assert asker.reasons == []
    assert results(harness) == ["no {}"] * 4
