"""What a session of 20 turns and 60 tool calls may cost, and that its account is right."""

import json
from pathlib import Path

from prompt_engine.cache_control import add_cache_breakpoints
from tests.benchmarks.accounting import mark_system_and_last_three, replay
from tests.benchmarks.caching import MAX_BILLED_TOKENS, record_session
from tests.benchmarks.scripted_session import PLAN, make_script

LEAST_SHARE_READ = 0.97
MOST_TIMES_PAID_IN_FULL = 1.01
MOST_PREFIX_CHARACTERS = 20_000


async def test_a_long_session_reads_nearly_all_input_from_the_cache(tmp_path: Path) -> None:
    played = make_script()
    assert (len(PLAN), sum(played.call_counts), max(played.call_counts)) == (20, 60, 11)

    recording = await record_session(tmp_path, played)

    assert "is_error" not in json.dumps(recording.bodies[-1]["messages"])
    bill = recording.bill
    assert bill.requests == len(played.replies)
    assert bill.read_share >= LEAST_SHARE_READ
    assert bill.billed_tokens <= MAX_BILLED_TOKENS
    assert bill.times_paid_in_full <= MOST_TIMES_PAID_IN_FULL
    characters = recording.system_characters + recording.tool_characters
    assert characters <= MOST_PREFIX_CHARACTERS
    assert replay(recording.bodies) == replay(recording.bodies, add_cache_breakpoints) == bill


async def test_a_failed_request_after_a_large_batch_is_not_paid_twice(
    tmp_path: Path,
) -> None:
    played = make_script(turns=9)  # two after that of the batch
    assert max(played.call_counts) == 11

    recording = await record_session(tmp_path, played, failing=played.largest_batch + 1)

    assert recording.bill.times_paid_in_full <= MOST_TIMES_PAID_IN_FULL
    assert (
        replay(recording.bodies, mark_system_and_last_three).times_paid_in_full
        > MOST_TIMES_PAID_IN_FULL
    )
