"""What is piped in: joined to the task, whatever bytes it is; no reason to hang or crash."""

import os
import subprocess
from pathlib import Path

import pytest

from acp_server.cli.run_options import RunOptions
from acp_server.cli.run_requests import STDIN_EMPTY_NOTE, request_from
from tests.cli.command_line import command_line, environment
from tests.headless.run.pipeline import make_step, parse_line
from tests.support.messages_api import ParsedRequest, messages_api_in_thread

FULL = pytest.mark.full


@FULL
@pytest.mark.parametrize(
    ("given", "asked"),
    [
        (b"caf\xe9 \xff\n", "Look\n\ncaf\ufffd \ufffd"),
        (b"", "Look"),
        ("é".encode(), "Look\n\né"),
    ],
    ids=["no UTF-8", "nothing", "UTF-8"],
)
def test_piped_input_is_appended_to_the_task(tmp_path: Path, given: bytes, asked: str) -> None:
    prompts: list[str] = []

    def answer(ask: ParsedRequest) -> str:
        prompts.append(ask.last_text)
        return "Done."

    with messages_api_in_thread(answer) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        done = subprocess.run(
            command_line("run", "Look", "--cwd", str(step.workspace), "--format", "json"),
            env={**environment(step.home, **step.variables), "PYTHONIOENCODING": "utf-8:strict"},
            input=given,
            capture_output=True,
            check=False,
        )
    assert (done.returncode, prompts) == (0, [asked]), done.stderr


@pytest.mark.parametrize(
    ("given", "notes"), [(b"", [STDIN_EMPTY_NOTE]), (b"x", [])], ids=["empty", "text"]
)
def test_an_empty_pipe_is_named(
    given: bytes, notes: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    reading, writing = os.pipe()
    os.write(writing, given)
    os.close(writing)
    with os.fdopen(reading, "rb") as stdin:
        request = request_from(RunOptions(prompt="Look"), stdin)
    assert request.prompt == "\n\n".join(["Look", *([given.decode()] if given else [])])
    assert capsys.readouterr().err.splitlines() == notes


@FULL
@pytest.mark.parametrize(
    ("redirection", "code"), [("<&-", 0), ("< /dev/null", 0), ("> /dev/full", 1), ("2>&-", 0)]
)
def test_closed_or_full_streams_cause_no_crash(tmp_path: Path, redirection: str, code: int) -> None:
    with messages_api_in_thread(["Done."]) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", *command_line("run", "Look")],
            cwd=step.workspace,
            env=environment(step.home, **step.variables),
            capture_output=True,
            check=False,
        )
    assert done.returncode == code, done.stderr
    assert b"Traceback" not in done.stderr


@FULL
def test_a_silent_input_pipe_times_out_with_a_message(
    tmp_path: Path,
) -> None:
    with messages_api_in_thread(["Done."]) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        with subprocess.Popen(
            command_line("run", "Look", "--cwd", str(step.workspace)),
            env=environment(step.home, **step.variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            assert process.wait(timeout=60) == 0
            assert process.stderr is not None
            assert b"stdin sent no data" in process.stderr.read()


@FULL
def test_slow_piped_input_is_not_lost(tmp_path: Path) -> None:
    """`git diff` of a large repository is slower than we are."""
    prompts: list[str] = []

    def answer(ask: ParsedRequest) -> str:
        prompts.append(ask.last_text)
        return "Done."

    with messages_api_in_thread(answer) as api:
        step = make_step(tmp_path, api)
        step.prepare()
        done = subprocess.run(
            ["sh", "-c", '(sleep 2; echo late) | "$@"', "sh", *command_line("run", "Look")],
            cwd=step.workspace,
            env=environment(step.home, **step.variables),
            capture_output=True,
            check=False,
        )
    assert (done.returncode, prompts) == (0, ["Look\n\nlate"]), done.stderr


@FULL
def test_an_unknown_slash_command_is_a_usage_error(tmp_path: Path) -> None:
    with messages_api_in_thread([]) as api:
        code, result = make_step(tmp_path, api).result("/nonsense")
    assert (code, result["outcome"]) == (2, "usage_error")
    assert "no command `/nonsense`" in str(result["reason"])


def test_an_invalid_task_also_produces_a_result(tmp_path: Path) -> None:
    task = tmp_path / "task.md"
    task.write_bytes(b"\xff")
    with messages_api_in_thread([]) as api:
        done = make_step(tmp_path, api).run("--prompt-file", str(task), "--format", "json")
    assert (done.exit_code, parse_line(done.stdout)["exit_code"]) == (2, 2)
