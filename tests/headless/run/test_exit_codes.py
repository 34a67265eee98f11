"""Every exit code, reached by the real process and judged from outside."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.command_line import command_line, environment
from tests.headless.run.pipeline import Step, asked, parsed, step
from tests.support.messages_api import (
    KEY,
    Failure,
    Hang,
    call,
    messages_api_in_thread,
    overloaded,
    rate_limited,
    reply,
    server_error,
    unauthorized,
)

NOBODY = "http://127.0.0.1:9"
HANGING = Hang(at_event=3, seconds=60)


def test_a_task_that_is_done_ends_with_0(tmp_path: Path) -> None:
    with messages_api_in_thread(["All is well."]) as api:
        code, result = step(tmp_path, api).result("Look around")
    assert (code, result["outcome"], result["exit_code"]) == (0, "done", 0)
    assert (result["text"], result["stop_reason"]) == ("All is well.", "end_turn")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("--mode", "wild", "x"), "--mode"),
        (("--allow", "teleport(x)", "x"), "there is no tool 'teleport'"),
        (("--session", "a", "--resume", "last", "x"), "exclude each other"),
        ((), "there is no task"),
    ],
    ids=["option", "rule", "two sessions", "no task"],
)
def test_a_wrong_command_line_ends_with_2(
    tmp_path: Path, arguments: tuple[str, ...], reason: str
) -> None:
    done = Step(tmp_path, NOBODY).run(*arguments)
    assert done.exit_code == 2
    assert reason in done.stderr


def test_a_configuration_that_is_wrong_ends_with_2(tmp_path: Path) -> None:
    done = Step(tmp_path, NOBODY).run("x", ACP_SERVER_MODE="wild")
    assert done.exit_code == 2
    assert "ACP_SERVER_MODE" in done.stderr


def test_a_task_that_takes_too_long_ends_with_3_and_keeps_what_was_said(tmp_path: Path) -> None:
    with messages_api_in_thread([reply("Half of it", faults=[HANGING])]) as api:
        code, result = step(tmp_path, api).result("Look around", "--timeout", "3")
    assert (code, result["outcome"]) == (3, "timeout")


def test_a_session_that_is_not_there_ends_with_4(tmp_path: Path) -> None:
    code, result = Step(tmp_path, NOBODY).result("Go on", "--session", "sess_none")
    assert (code, result["outcome"]) == (4, "session_not_found")
    code, result = Step(tmp_path, NOBODY).result("Go on", "--resume", "last")
    assert (code, result["outcome"]) == (4, "session_not_found")


@pytest.mark.parametrize("on_denied", ["fail", "continue"])
def test_a_denial_that_left_work_undone_ends_with_5(tmp_path: Path, on_denied: str) -> None:
    script = [reply(call("terminal", command="make deploy")), "I could not."]
    with messages_api_in_thread(script) as api:
        code, result = step(tmp_path, api).result("Deploy", "--on-denied", on_denied)
    assert (code, result["outcome"]) == (5, "denied")
    assert result["left_undone"] == [{"act": "run", "name": "make deploy"}]


def test_a_spent_budget_ends_with_7(tmp_path: Path) -> None:
    script = [reply(call("todo", todos=[])), "Never asked."]
    with messages_api_in_thread(script) as api:
        code, result = step(tmp_path, api).result("Plan", "--max-turns", "1")
        assert asked(api) == 1
    assert (code, result["outcome"]) == (7, "budget")


def test_a_key_that_is_refused_ends_with_8(tmp_path: Path) -> None:
    with messages_api_in_thread([unauthorized()]) as api:
        code, result = step(tmp_path, api).result("Look around")
    assert (code, result["outcome"]) == (8, "authentication")
    assert KEY not in json.dumps(dict(result))


def test_no_key_at_all_ends_with_8(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        code, result = step(tmp_path, api).result("Look around", ANTHROPIC_API_KEY="")
    assert (code, result["outcome"]) == (8, "authentication")


@pytest.mark.parametrize(
    "failure",
    [overloaded(), server_error(), rate_limited(retry_after_seconds=0.01)],
    ids=["overloaded", "500", "429"],
)
def test_a_provider_that_fails_ends_with_75(tmp_path: Path, failure: Failure) -> None:
    with messages_api_in_thread([failure, failure]) as api:
        code, result = step(tmp_path, api).result("Look around", "--max-retries", "1")
        assert asked(api) == 2
    assert (code, result["outcome"]) == (75, "provider_error")


def test_an_endpoint_that_refuses_connections_ends_with_75(tmp_path: Path) -> None:
    began = time.monotonic()
    code, result = Step(tmp_path, NOBODY).result("Look around", "--max-retries", "0")
    assert (code, result["outcome"]) == (75, "provider_error")
    assert time.monotonic() - began < 20


@pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind are not there")
@pytest.mark.parametrize(
    ("number", "code", "outcome"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
    ids=["SIGINT", "SIGTERM"],
)
def test_a_signal_ends_the_run_with_its_code_and_one_result(
    tmp_path: Path, number: signal.Signals, code: int, outcome: str
) -> None:
    with messages_api_in_thread([reply("Half of it", faults=[HANGING])]) as api:
        variables = environment(tmp_path, **step(tmp_path, api).variables)
        command = command_line("run", "Look", "--cwd", str(tmp_path), "--format", "stream-json")
        with subprocess.Popen(
            command, env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert parsed(process.stdout.readline().decode())["type"] == "run"
            process.send_signal(number)
            rest = process.stdout.read().decode().splitlines()
            assert process.wait(timeout=20) == code
    results = [parsed(line) for line in rest if parsed(line)["type"] == "result"]
    assert [result["outcome"] for result in results] == [outcome]
    assert parsed(rest[-1]) == results[0]
