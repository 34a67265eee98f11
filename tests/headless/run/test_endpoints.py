"""An endpoint that fails in all the ways there are: bounded in time, the right code, one result."""

import time
from pathlib import Path

import pytest

from tests.headless.run.pipeline import events_of, step
from tests.support.messages_api import (
    CutAfterEvents,
    Drip,
    Hang,
    Turn,
    Vanish,
    messages_api_in_thread,
    not_found,
    rate_limited,
    reply,
    server_error,
    unauthorized,
)

LONG = Hang(at_event=1, seconds=90)
BOUND_SECONDS = 25
CASES: dict[str, tuple[list[Turn], tuple[str, ...], int]] = {
    "hanging": ([reply("Never", faults=[LONG])], ("--timeout", "4"), 3),
    "slow": ([reply("a" * 4000, faults=[Drip(1, 0.01)])], ("--timeout", "5"), 3),
    "cut": ([reply("Half", faults=[CutAfterEvents(2)])] * 2, ("--max-retries", "1"), 75),
    "vanishing": ([Vanish(), Vanish()], ("--max-retries", "1"), 75),
    "429 for an hour": ([rate_limited(retry_after_seconds=3600)], (), 75),
    "401": ([unauthorized()], (), 8),
    "404": ([not_found("claude-none")], (), 2),
}


def test_what_was_said_before_a_failure_is_kept_and_the_failure_is_not_taken_for_it(
    tmp_path: Path,
) -> None:
    script = [reply("Half of it is", faults=[CutAfterEvents(4)]), server_error()]
    with messages_api_in_thread(script) as api:
        code, result = step(tmp_path, api).result("Look", "--max-retries", "0")
    assert (code, result["text"]) == (75, "Half of it is")
    assert str(result["reason"]).startswith("127.0.0.1 failed (500)")


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_an_endpoint_that_fails_ends_the_run_in_time_with_one_result(
    tmp_path: Path, case: str
) -> None:
    script, arguments, code = CASES[case]
    began = time.monotonic()
    with messages_api_in_thread(script) as api:
        done = step(tmp_path, api).run("Look", "--format", "stream-json", *arguments)
    assert time.monotonic() - began < BOUND_SECONDS
    assert (done.exit_code, events_of(done)[-1]["exit_code"]) == (code, code)
