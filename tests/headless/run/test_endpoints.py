"""An endpoint that fails in all the ways there are: bounded in time, the right code, one result."""

import socket
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.headless.run.pipeline import PipelineStep, events_of, make_step
from tests.support.messages_api import (
    CutAfterEvents,
    DroppedConnection,
    PauseBeforeEvent,
    ScriptedTurn,
    TrickledBytes,
    call,
    messages_api_in_thread,
    not_found,
    rate_limited,
    reply,
    server_error,
    unauthorized,
)
from tests.support.user_texts import NO_ANSWER_IN_TIME

LONG = PauseBeforeEvent(at_event=1, seconds=90)
CASES: dict[str, tuple[list[ScriptedTurn], tuple[str, ...], int]] = {
    "hanging": ([reply("Never", faults=[LONG])], ("--timeout", "4"), 3),
    "silent": ([reply("Never", head_delay_seconds=90)], ("--timeout", "4"), 3),
    "slow": ([reply("a" * 4000, faults=[TrickledBytes(1, 0.01)])], ("--timeout", "5"), 3),
    "cut": ([reply("Half", faults=[CutAfterEvents(2)])] * 2, ("--max-retries", "1"), 75),
    "vanishing": ([DroppedConnection(), DroppedConnection()], ("--max-retries", "1"), 75),
    "429 for an hour": ([rate_limited(retry_after_seconds=3600)], (), 75),
    "401": ([unauthorized()], (), 8),
    "404": ([not_found("claude-none")], (), 2),
}


def test_text_before_a_failure_is_kept_and_the_error_is_not_part_of_it(
    tmp_path: Path,
) -> None:
    script = [reply("Half of it is", faults=[CutAfterEvents(4)]), server_error(), server_error()]
    with messages_api_in_thread(script) as api:
        code, result = make_step(tmp_path, api).result("Look", "--max-retries", "1")
    assert (code, result["text"]) == (75, "Half of it is")
    assert str(result["reason"]).startswith("127.0.0.1 failed (500)")


@contextmanager
def unresponsive_address() -> Generator[str]:
    """Provide an address where nobody takes connections, and no more of them can wait."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener, ExitStack() as waiting:
        address = listener.getsockname()
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)  # noqa: FBT003
            client.connect_ex(address)
        yield f"http://127.0.0.1:{address[1]}"


@pytest.mark.skipif(sys.platform == "win32", reason="a full backlog refuses connections there")
@pytest.mark.parametrize("retries", [0, pytest.param(1, marks=pytest.mark.full)])
def test_a_connection_that_is_never_accepted_times_out(tmp_path: Path, retries: int) -> None:
    with unresponsive_address() as url:
        options = ("--connect-timeout", "0.5", "--max-retries", str(retries))
        code, result = PipelineStep(tmp_path, url).result("Look", *options)
    assert (code, result["outcome"]) == (75, "provider_error")
    assert f"127.0.0.1 {NO_ANSWER_IN_TIME}" in str(result["reason"])


FALLBACK = """\
fallback_providers:
- {{provider: custom, model: claude-haiku-4-5, base_url: "{url}", api_key: test-key,
   api_mode: anthropic_messages}}
"""


@pytest.mark.parametrize("limit", ["--max-turns", "--max-tokens"])
def test_a_fallback_with_an_endpoint_of_its_own_counts_against_the_budget(
    tmp_path: Path, limit: str
) -> None:
    reads = [reply(call("read_file", path=f"{number}.py")) for number in range(20)]
    with (
        messages_api_in_thread([server_error()] * 2) as api,
        messages_api_in_thread(reads) as spare,
    ):
        step = make_step(tmp_path, api)
        step.prepare()
        (step.home / "config.yaml").write_text(FALLBACK.format(url=spare.url))
        # The failed request counts as one.
        most = {"--max-turns": "4", "--max-tokens": "100"}[limit]
        code, result = step.result("Look", "--max-retries", "0", limit, most)
        requests = len(spare.model_requests)
    assert (code, result["outcome"]) == (7, "budget"), result
    assert f"the run has reached its limit ({limit} {most})" in str(result["reason"])
    assert requests == {"--max-turns": 3, "--max-tokens": 1}[limit]


@pytest.mark.full
@pytest.mark.parametrize("case", CASES)
def test_a_failing_endpoint_ends_the_run_in_time_with_one_result(tmp_path: Path, case: str) -> None:
    script, arguments, code = CASES[case]
    with messages_api_in_thread(script) as api:
        done = make_step(tmp_path, api).run("Look", "--format", "stream-json", *arguments)
    assert (done.exit_code, events_of(done)[-1]["exit_code"]) == (code, code)
