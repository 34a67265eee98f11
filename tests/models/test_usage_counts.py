"""Usage that endpoints report with numbers that cannot be."""

import json

import pytest
from pydantic import JsonValue

from acp_server.models.anthropic.stream import MessageStream
from acp_server.models.openai_compatible.wire import parse_chat_usage, parse_responses_usage
from acp_server.models.usage_counts import clamp_usage
from acp_server.turn.events import Usage

STRANGE: dict[str, JsonValue] = {
    "negative": -5,
    "null": None,
    "a text": "many",
    "a list": [1],
    "true": True,
    "not a number": float("nan"),
    "infinite": float("inf"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_count_that_is_no_count_is_zero_in_every_form(name: str) -> None:
    value = STRANGE[name]
    stream = MessageStream(str)
    usage = {"input_tokens": value, "output_tokens": value, "cache_read_input_tokens": value}
    stream.translate(json.dumps({"type": "message_start", "message": {"usage": usage}}))
    delta = {"stop_reason": "end_turn"}
    stream.translate(json.dumps({"type": "message_delta", "delta": delta, "usage": usage}))
    assert stream.usage == Usage()
    details: JsonValue = {"cached_tokens": value}
    chat = {"prompt_tokens": 9, "completion_tokens": value, "prompt_tokens_details": details}
    assert parse_chat_usage(chat) == Usage(9)
    response = {"input_tokens": value, "output_tokens": 3, "input_tokens_details": details}
    assert parse_responses_usage(response) == Usage(0, 3)


@pytest.mark.parametrize("usage", [None, [], "much"])
def test_a_message_without_usage_is_complete(usage: JsonValue) -> None:
    stream = MessageStream(str)
    stream.translate(json.dumps({"type": "message_start", "message": {"usage": usage}}))
    end = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}
    stream.translate(json.dumps(end))
    assert (stream.stop, stream.usage) == ("end_turn", Usage())


def test_a_count_in_a_text_is_read() -> None:
    assert parse_chat_usage({"prompt_tokens": "12", "completion_tokens": 3.0}) == Usage(12, 3)


def test_more_tokens_from_the_cache_than_in_the_prompt_are_those_of_the_prompt() -> None:
    wire: dict[str, JsonValue] = {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 9}}
    assert parse_chat_usage(wire) == Usage(0, 0, 5)
    wire = {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 9}}
    assert parse_responses_usage(wire) == Usage(0, 0, 5)


def test_counts_far_above_the_context_window_become_its_size() -> None:
    assert clamp_usage(Usage(10**9, 10**9, 7), 1_000) == Usage(1_000, 1_000)
    assert clamp_usage(Usage(900, 50, 8_000), 1_000) == Usage(900, 50, 8_000), "its window may be"
