"""What a session of 20 turns and 60 tool calls may cost, and that its account is right."""

import json
from pathlib import Path

import pytest

from prompt_engine.cache_control import add_cache_breakpoints
from tests.benchmarks.accounting import mark_system_and_last_three, replay
from tests.benchmarks.caching import MAX_BILLED_TOKENS, record_session
from tests.benchmarks.scripted_session import PLAN, make_script

LEAST_SHARE_READ = 0.97
MOST_TIMES_PAID_IN_FULL = 1.01
MOST_PREFIX_CHARACTERS = 20_000


@pytest.mark.parametrize("is_failing", [pytest.param(False, marks=pytest.mark.full), True])
async def test_a_long_session_reads_nearly_all_input_from_the_cache(
    tmp_path: Path, *, is_failing: bool
) -> None:
    """The request after the largest batch may fail, which is not paid twice."""
    played = make_script()
    assert (len(PLAN), sum(played.call_counts), max(played.call_counts)) == (20, 60, 11)

    failing = played.largest_batch + 1 if is_failing else None
    recording = await record_session(tmp_path, played, failing=failing)

    assert "is_error" not in json.dumps(recording.bodies[-1]["messages"])
    bill = recording.bill
    assert bill.requests == len(played.replies) - is_failing
    assert bill.read_share >= LEAST_SHARE_READ
    assert bill.billed_tokens <= MAX_BILLED_TOKENS
    assert bill.times_paid_in_full <= MOST_TIMES_PAID_IN_FULL
    characters = recording.system_characters + recording.tool_characters
    assert characters <= MOST_PREFIX_CHARACTERS
    assert replay(recording.bodies, add_cache_breakpoints) == bill
    assert is_failing or replay(recording.bodies) == bill
    plainly_marked = replay(recording.bodies, mark_system_and_last_three)
    assert (plainly_marked.times_paid_in_full > MOST_TIMES_PAID_IN_FULL) == is_failing
