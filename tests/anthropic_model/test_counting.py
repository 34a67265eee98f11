"""What a message used, as endpoints count it: at its beginning, at its end, or not at all."""

import json

import pytest

from acp_server.models.anthropic.stream import MessageStream
from acp_server.turn.events import Usage
from tests.support.editor import Object

LONG = {"ephemeral_5m_input_tokens": 10, "ephemeral_1h_input_tokens": 30}
START_USAGE: Object = {
    "input_tokens": 5,
    "output_tokens": 1,
    "cache_read_input_tokens": 100,
    "cache_creation_input_tokens": 40,
    "cache_creation": {**LONG},
}
NOTHING: Object = {"input_tokens": 0, "output_tokens": 0}
CASES: dict[str, tuple[Object, Object, Usage]] = {
    "what was read only at the beginning": (
        START_USAGE,
        {"output_tokens": 7},
        Usage(5, 7, 100, 10, 30),
    ),
    "the same at the end, without how long it is kept": (
        START_USAGE,
        {
            "input_tokens": 5,
            "output_tokens": 7,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 40,
        },
        Usage(5, 7, 100, 10, 30),
    ),
    "more at the end: the provider has searched": (
        START_USAGE,
        {
            "input_tokens": 905,
            "output_tokens": 7,
            "cache_read_input_tokens": 100,
            "cache_creation_input_tokens": 60,
        },
        Usage(905, 7, 100, 30, 30),
    ),
    "what was read only at the end": (
        NOTHING,
        {"input_tokens": 50, "output_tokens": 7, "cache_read_input_tokens": None},
        Usage(50, 7),
    ),
    "nothing": (NOTHING, NOTHING, Usage()),
}


@pytest.mark.parametrize("case", CASES)
def test_the_last_reported_usage_of_a_message_counts(case: str) -> None:
    start_usage, end_usage, expected = CASES[case]
    stream = MessageStream(str)
    stream.translate(json.dumps({"type": "message_start", "message": {"usage": start_usage}}))
    delta = {"stop_reason": "end_turn"}
    stream.translate(json.dumps({"type": "message_delta", "delta": delta, "usage": end_usage}))
    assert stream.usage == expected
