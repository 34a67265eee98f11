"""The size of a request: what the endpoint counted, corrected estimates, and learned windows."""

from dataclasses import dataclass, field, replace

import pytest

from acp_server.turn.context_counter import (
    MIN_WINDOW_TOKENS,
    ContextCounter,
    MeteredRequest,
    TokenScales,
)
from acp_server.turn.conversation import AssistantMessage, Message, Text, UserMessage
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelRequest
from tests.turn.turn_harness import CharacterMeter, ModelRound, RoundModel

MODEL, OTHER_MODEL = RoundModel(ModelRound()), RoundModel(ModelRound())
METER = CharacterMeter(window_tokens=100_000, answer_tokens=1_000)
ANSWER = AssistantMessage((Text("Yes."),))


@dataclass(frozen=True)
class RecordingMeter(CharacterMeter):
    """Meter that records how many messages each estimate has read."""

    lengths: list[int] = field(default_factory=list[int])

    def estimate(self, request: ModelRequest) -> int:
        """Return the total length of all user messages."""
        self.lengths.append(len(request.messages))
        return super().estimate(request)


def said(characters: int) -> Message:
    """Return a message of the user, estimated to have so many tokens."""
    return UserMessage((Text("x" * characters),))


def asked(*messages: Message, generation: int = 0) -> MeteredRequest:
    """Return a request to the model with these messages."""
    return MeteredRequest(MODEL, METER, ModelRequest(messages), generation)


def counter_after(prompt_tokens: int, output_tokens: int = 0) -> ContextCounter:
    """Return a counter that was told the size of a request estimated at 100 tokens."""
    counter = ContextCounter()
    counter.record_usage(asked(said(100)), Usage(prompt_tokens, output_tokens))
    return counter


def test_without_a_report_a_request_has_its_estimated_size() -> None:
    assert ContextCounter().count(asked(said(100), ANSWER, said(10))) == 110


@pytest.mark.parametrize(
    ("prompt_tokens", "added_tokens"),
    [
        pytest.param(200, 20, id="denser than estimated"),
        pytest.param(50, 8, id="halfway to the estimate, as the rest may be denser"),
    ],
)
def test_behind_a_reported_request_and_its_answer_only_new_messages_are_estimated(
    prompt_tokens: int, added_tokens: int
) -> None:
    counter = counter_after(prompt_tokens, output_tokens=30)
    assert counter.count(asked(said(100), ANSWER)) == prompt_tokens + 30
    assert counter.count(asked(said(100), ANSWER, said(10))) == prompt_tokens + 30 + added_tokens


@pytest.mark.parametrize(
    ("prompt_tokens", "estimate"),
    [
        pytest.param(200, 210, id="twice the estimate"),
        pytest.param(1, 21, id="corrected to a fifth at least"),
        pytest.param(10_000, 420, id="corrected to four times at most"),
    ],
)
def test_a_rewritten_conversation_is_estimated_with_a_correction_and_a_margin(
    prompt_tokens: int, estimate: int
) -> None:
    counted = counter_after(prompt_tokens).count(asked(said(100), generation=1))
    assert counted == pytest.approx(estimate, abs=1)  # rounded up, and 0.2 is no exact number


@pytest.mark.parametrize(("prompt_tokens", "estimate"), [(50, 60), (150, 180), (10_000, 200)])
def test_another_model_takes_over_the_correction_of_its_conversation_with_a_margin(
    prompt_tokens: int, estimate: int
) -> None:
    other = replace(asked(said(100)), model=OTHER_MODEL)
    assert counter_after(prompt_tokens).count(other) == estimate


@pytest.mark.parametrize(("prompt_tokens", "estimate"), [(50, 60), (200, 100)])
def test_in_another_conversation_it_takes_over_a_correction_only_if_it_lowers_the_estimate(
    prompt_tokens: int, estimate: int
) -> None:
    scales = TokenScales()
    ContextCounter(scales).record_usage(asked(said(100)), Usage(prompt_tokens, 0))
    other = replace(asked(said(100)), model=OTHER_MODEL)
    assert ContextCounter(scales).count(other) == estimate


def test_conversations_with_the_same_models_share_their_corrections() -> None:
    scales = TokenScales()
    one, other = ContextCounter(scales), ContextCounter(scales)
    one.record_usage(asked(said(100)), Usage(200, 0))
    assert other.count(asked(said(100))) == 210


def test_another_session_begins_with_the_corrections_of_its_model_by_name() -> None:
    by_name: dict[str, float] = {}
    first, second = TokenScales(by_name), TokenScales(by_name)
    first.add_model(MODEL, "one")
    second.add_model(OTHER_MODEL, "one")
    ContextCounter(first).record_usage(asked(said(100)), Usage(200, 0))
    assert by_name == {"one": 2.0}
    other = replace(asked(said(100)), model=OTHER_MODEL)
    assert ContextCounter(second).count(other) == 210


def test_a_report_without_prompt_tokens_changes_nothing() -> None:
    assert counter_after(0, output_tokens=10).count(asked(said(100))) == 100


def test_a_report_on_a_request_estimated_as_empty_corrects_nothing() -> None:
    counter = ContextCounter()
    counter.record_usage(asked(), Usage(50, 0))
    assert counter.count(asked(ANSWER, said(10))) == 60
    assert counter.count(asked(said(100), generation=1)) == 100


def test_a_report_has_only_added_messages_estimated() -> None:
    meter, counter = RecordingMeter(100_000), ContextCounter()
    history: list[Message] = [said(100)]
    for tokens in (100, 200, 300):
        metered = replace(asked(*history), meter=meter)
        counter.record_usage(metered, Usage(tokens, 0))
        history += [ANSWER, said(100)]
    assert meter.lengths == [0, 1, 0, 2, 0, 2]
    assert counter.count(asked(said(100), generation=1)) == 105, "calibrated by all of them"


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param(asked(said(40), ANSWER, said(10), generation=1), id="rewritten"),
        pytest.param(asked(said(50)), id="shorter"),
        pytest.param(
            replace(asked(said(40), ANSWER, said(10)), model=OTHER_MODEL), id="for another model"
        ),
    ],
)
def test_messages_that_are_not_behind_the_estimated_ones_are_estimated_whole(
    changed: MeteredRequest,
) -> None:
    counter = ContextCounter()
    assert counter.estimate_messages(asked(said(100), ANSWER)) == 100
    assert counter.estimate_messages(changed) == 50


def test_a_loaded_conversation_continues_from_the_count_of_its_last_answer() -> None:
    counter = ContextCounter()
    covered = (said(50), ANSWER, said(30), ANSWER, said(20), ANSWER)
    counter.restore((*covered, said(10)), 200)
    assert counter.count(asked(*covered, said(10))) == 220
    assert counter.count(asked(said(100), generation=1)) == 210


@pytest.mark.parametrize(
    ("messages", "tokens"),
    [
        pytest.param((said(100), ANSWER), 0, id="no count was stored"),
        pytest.param((said(100),), 200, id="no answer was counted"),
    ],
)
def test_a_loaded_conversation_without_a_usable_count_is_estimated(
    messages: tuple[Message, ...], tokens: int
) -> None:
    counter = ContextCounter()
    counter.restore(messages, tokens)
    assert counter.count(asked(*messages)) == 100


@pytest.mark.parametrize(
    ("answer_tokens", "max_request_tokens"),
    [
        pytest.param(100, 900, id="the whole answer"),
        pytest.param(600, 750, id="a quarter at most"),
    ],
)
def test_a_request_leaves_room_for_its_answer(answer_tokens: int, max_request_tokens: int) -> None:
    meter = CharacterMeter(window_tokens=1_000, answer_tokens=answer_tokens)
    assert ContextCounter().max_request_tokens(MODEL, meter) == max_request_tokens


@pytest.mark.parametrize(
    ("request_tokens", "limit_tokens", "window"),
    [
        pytest.param(None, 8_000, 8_000, id="named"),
        pytest.param(None, 200_000, 100_000, id="named, but larger than the window known so far"),
        pytest.param(None, None, 8_000, id="a share of the estimated size"),
        pytest.param(20_000, None, 16_000, id="a share of the counted size"),
    ],
)
def test_a_refused_request_tells_the_window_of_its_model(
    request_tokens: int | None, limit_tokens: int | None, window: int
) -> None:
    counter = ContextCounter()
    assert counter.record_overflow(asked(said(10_000)), request_tokens, limit_tokens)
    assert counter.window_tokens(MODEL, METER) == window
    assert counter.window_tokens(OTHER_MODEL, METER) == METER.window_tokens


def test_a_refused_request_counts_as_larger_than_what_fits() -> None:
    counter = ContextCounter()
    refused = asked(said(10_000))
    counter.record_overflow(refused, None, 13_000)
    assert counter.max_request_tokens(MODEL, METER) == 12_000
    assert counter.count(refused) == 12_001
    # Estimates are corrected as well: 12,001 instead of 10,000, with the margin of 5 percent.
    assert counter.count(replace(refused, generation=1)) == 12_602


@pytest.mark.parametrize(
    ("size", "limit_tokens", "may_help"),
    [
        pytest.param(MIN_WINDOW_TOKENS - 1, None, False, id="too small to be too large"),
        pytest.param(MIN_WINDOW_TOKENS, None, True, id="as large as the smallest window"),
        pytest.param(100, 2_000, True, id="small, but the endpoint names its limit"),
    ],
)
def test_shortening_a_small_request_helps_only_if_the_endpoint_names_a_limit(
    size: int, limit_tokens: int | None, *, may_help: bool
) -> None:
    counter = ContextCounter()
    assert counter.record_overflow(asked(said(size)), None, limit_tokens) == may_help
    assert (counter.window_tokens(MODEL, METER) < METER.window_tokens) == may_help
