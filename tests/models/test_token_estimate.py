"""Token estimates beside exact counts, and that single messages add up."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypedDict, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from acp_server.models.families import UNKNOWN_FAMILY, Tokenizer, answer_limit, answer_tokens
from acp_server.models.meters import FamilyMeter
from acp_server.models.token_estimate import estimate_tokens
from acp_server.turn.conversation import (
    AssistantMessage,
    Media,
    Message,
    ProviderBlock,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.ports import ModelRequest, ToolSpec


class _Counted(TypedDict):
    text: str
    dense: int
    regular: int


COUNTS = cast(
    "Mapping[str, _Counted]",
    tomllib.loads(Path(__file__).with_name("token_counts.toml").read_text("utf-8")),
)
TOKENIZERS: tuple[Tokenizer, ...] = ("dense", "regular")


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("kind", COUNTS)
def test_an_estimate_is_near_the_count_and_rarely_below(kind: str, tokenizer: Tokenizer) -> None:
    counted = COUNTS[kind]
    ratio = estimate_tokens(counted["text"], tokenizer) / counted[tokenizer]
    assert 0.9 <= ratio <= 1.5


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_the_estimates_of_all_kinds_together_are_high_by_less_than_a_quarter(
    tokenizer: Tokenizer,
) -> None:
    estimated = sum(estimate_tokens(each["text"], tokenizer) for each in COUNTS.values())
    assert 1.0 <= estimated / sum(each[tokenizer] for each in COUNTS.values()) <= 1.25


@given(st.text(), st.text())
def test_an_estimate_never_exceeds_the_bytes_and_nearly_adds_up(first: str, second: str) -> None:
    total = estimate_tokens(first + second)
    assert total <= len((first + second).encode())
    # What the edge between the two makes of letters and digits, and rounding.
    assert abs(estimate_tokens(first) + estimate_tokens(second) - total) <= 4


def test_half_a_surrogate_pair_has_an_estimate() -> None:
    assert estimate_tokens("\ud800") > 0


MESSAGES: Sequence[Message] = (
    UserMessage((Text("Look at this."), Media("image/png", "A" * 400))),
    AssistantMessage(
        (
            Thinking("Hm.", "signature"),
            RedactedThinking("c2VjcmV0" * 40),
            ToolCall("c1", "look", '{"path": "a.py"}'),
            ProviderBlock({"type": "server_tool_use", "id": "s1"}, called_id="s1"),
        )
    ),
    UserMessage((ToolResult("c1", "def f(): ...\n" * 40, media=(Media("image/png", "A"),)),)),
    AssistantMessage((Text("It is short."),)),
)


def test_the_estimates_of_messages_add_up_to_that_of_their_request() -> None:
    meter = FamilyMeter(UNKNOWN_FAMILY)
    tools = (ToolSpec("look", "Looks.", {"type": "object"}),)
    whole = meter.estimate(ModelRequest(MESSAGES, "Be kind.", tools))
    frame = meter.estimate(ModelRequest((), "Be kind.", tools))
    assert whole == frame + sum(map(meter.estimate_message, MESSAGES))
    assert all(meter.estimate_message(message) > 0 for message in MESSAGES)


class CountedSchema(dict[str, JsonValue]):
    """A schema that counts how often it is written as text."""

    written = 0

    def __repr__(self) -> str:
        self.written += 1
        return super().__repr__()


def test_a_schema_is_written_once_for_all_requests_with_its_tool() -> None:
    meter, schema = FamilyMeter(UNKNOWN_FAMILY), CountedSchema({"type": "object"})
    tool = ToolSpec("find", "Finds.", schema)
    sizes = {meter.estimate(ModelRequest((), "Be kind.", (tool,))) for _ in range(3)}
    assert len(sizes) == schema.written == 1
    longer = replace(tool, description="Finds all that there is to find.")
    assert meter.estimate(ModelRequest((), "Be kind.", (longer,))) > sizes.pop()


@pytest.mark.parametrize("output", [4_096, 8_192, 64_000, 128_000])
@pytest.mark.parametrize("window", [8_192, 32_768, 128_000, 200_000, 1_000_000])
def test_a_prompt_that_leaves_the_answer_tokens_free_fits_with_the_limit_of_the_answer(
    window: int, output: int
) -> None:
    family = replace(UNKNOWN_FAMILY, context_window_tokens=window, max_output_tokens=output)
    reserved = answer_tokens(family)
    assert 0 < reserved <= window / 4
    assert reserved <= output
    assert answer_limit(family, window - reserved) == reserved
    assert answer_limit(family, 2 * window) == reserved, "an estimate can be too high"
    for prompt in range(0, window - reserved, window // 50):
        limit = answer_limit(family, prompt)
        assert reserved <= limit <= output
        assert prompt + limit <= window
        if window < 128_000:
            assert limit <= window / 4
