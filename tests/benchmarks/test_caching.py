"""What a session of 20 turns and 60 tool calls may cost, and that its account is right."""

import json
from pathlib import Path

from prompt_engine.cache_control import mark
from tests.benchmarks.accounting import replay, system_and_3
from tests.benchmarks.caching import MOST_BILLED_TOKENS, record
from tests.benchmarks.scripted_session import PLAN, script

LEAST_SHARE_READ = 0.97
MOST_TIMES_PAID_IN_FULL = 1.01
MOST_PREFIX_CHARACTERS = 20_000


async def test_a_long_session_reads_nearly_everything_from_the_cache(tmp_path: Path) -> None:
    played = script()
    assert (len(PLAN), sum(played.call_counts), max(played.call_counts)) == (20, 60, 11)

    recording = await record(tmp_path, played)

    assert "is_error" not in json.dumps(recording.bodies[-1]["messages"])
    bill = recording.bill
    assert bill.requests == len(played.replies)
    assert bill.share_read >= LEAST_SHARE_READ
    assert bill.billed <= MOST_BILLED_TOKENS
    assert bill.times_paid_in_full <= MOST_TIMES_PAID_IN_FULL
    characters = recording.system_characters + recording.tool_characters
    assert characters <= MOST_PREFIX_CHARACTERS
    assert replay(recording.bodies) == replay(recording.bodies, mark) == bill


async def test_a_request_that_fails_behind_a_large_batch_costs_nothing_twice(
    tmp_path: Path,
) -> None:
    played = script()

    recording = await record(tmp_path, played, failing=played.largest_batch + 1)

    assert recording.bill.times_paid_in_full <= MOST_TIMES_PAID_IN_FULL
    assert replay(recording.bodies, system_and_3).times_paid_in_full > MOST_TIMES_PAID_IN_FULL
