"""Signals: whenever one comes, and however often, there is one result, and the code is true."""

import os
import signal
import sys
from contextlib import AbstractContextManager
from io import BufferedReader
from pathlib import Path

import pytest

from tests.cli.command_line import run_in_new_process, start
from tests.headless.run.pipeline import UNREACHABLE_URL, Object, PipelineStep, make_step, parse_line
from tests.support.fork_server import ForkedProcess
from tests.support.messages_api import PauseBeforeEvent, messages_api_in_thread, reply
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind")
FULL = pytest.mark.full
HANGING = PauseBeforeEvent(at_event=3, seconds=60)
EARLY = """\
import os, signal, sys


class Caller:
    def find_spec(self, name, *_rest):
        if name == "acp_server.cli.run_requests":
            os.kill(os.getpid(), signal.{name})


sys.meta_path.insert(0, Caller())
"""
"""Is imported by Python itself when it starts: a signal comes while the command is imported."""


def begin(
    step: PipelineStep, *arguments: str
) -> AbstractContextManager[tuple[ForkedProcess, BufferedReader]]:
    """Start a run."""
    step.prepare()
    return start(step.home, "run", "--cwd", str(step.workspace), *arguments, **step.variables)


def only_result(lines: bytes) -> Object:
    """Return the result, which must be there once, and last."""
    events = [parse_line(line) for line in lines.decode().splitlines()]
    assert [each["type"] for each in events if each["type"] == "result"] == ["result"]
    assert events[-1]["type"] == "result"
    return events[-1]


@pytest.mark.parametrize(
    ("name", "code", "outcome"),
    [
        ("SIGINT", 130, "interrupted"),
        ("SIGTERM", 143, "terminated"),
        pytest.param("SIGHUP", 143, "terminated", marks=FULL),
    ],
)
def test_a_repeated_signal_produces_one_result(
    tmp_path: Path, name: str, code: int, outcome: str
) -> None:
    with (
        messages_api_in_thread([reply("Half of it", faults=[HANGING])]) as api,
        begin(make_step(tmp_path, api), "Look", "--format", "stream-json") as (process, output),
    ):
        assert parse_line(output.readline().decode())["type"] == "run"
        for _ in range(3):
            process.send_signal(getattr(signal, name))
        result = only_result(output.read())
        ended = process.wait(HANG_TIMEOUT_SECONDS)
    assert (ended, result["outcome"], result["exit_code"]) == (code, outcome, code)


def test_a_signal_while_waiting_for_the_task_produces_a_result(tmp_path: Path) -> None:
    task = tmp_path / "task"
    os.mkfifo(task)
    options = ("--prompt-file", str(task), "--format", "json")
    run = begin(PipelineStep(tmp_path, UNREACHABLE_URL), *options)
    with run as (process, output), task.open("wb"):
        process.terminate()
        result = only_result(output.read())
        assert process.wait(HANG_TIMEOUT_SECONDS) == 143
    assert result["outcome"] == "terminated"


@FULL
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_during_the_import_of_the_command_produces_a_result(
    tmp_path: Path, name: str, code: int
) -> None:
    (tmp_path / "sitecustomize.py").write_text(EARLY.format(name=name))
    step = PipelineStep(tmp_path, UNREACHABLE_URL)
    step.prepare()
    variables = {**step.variables, "PYTHONPATH": str(tmp_path)}
    done = run_in_new_process(step.home, "run", "Look", "--format", "json", **variables)
    assert (done.exit_code, only_result(done.stdout.encode())["exit_code"]) == (code, code)
