"""How a server leaves: when its client hangs up, stops listening, or sends a signal."""

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.editor import Object, make_configuration, open_editor
from tests.support.server_process import ServerProcess, command_line, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS, finishes_within

STREAM = "prompt: *\npace: 2ms\nchunks: 100000 word "
SILENCE = "prompt: *\npause: 600s\nsay: done"
STREAM_FAST = "prompt: *\nchunks: 1000000 " + "x" * 1000
SOON_SECONDS = 3
"""The server gives itself 1.7 at most; the rest is what starting and ending Python takes."""


def nothing(server: ServerProcess) -> None:
    """The server has just been started."""
    del server


def greeted(server: ServerProcess) -> None:
    """`initialize` was answered, and nothing came after it."""
    server.initialize()


def idle(server: ServerProcess) -> None:
    """A session is open and nothing happens in it."""
    server.initialize()
    server.new_session()
    server.receive_update()


def streaming(server: ServerProcess) -> None:
    """A turn says something."""
    idle(server)
    server.start_prompt(server.new_session())
    server.receive_update()


def prompting(server: ServerProcess) -> None:
    """A prompt was sent, and may or may not have been read."""
    idle(server)
    server.start_prompt(server.new_session())


def deaf(server: ServerProcess) -> None:
    """A turn says more than anybody reads."""
    idle(server)
    server.start_prompt(server.new_session(), "deaf")
    server.receive_update()
    server.wait_until_write_blocked()


STARTING = [nothing, greeted]
"""The stages in which the server still imports its code."""
STAGES = [nothing, greeted, idle, prompting, streaming]
stages = pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.__name__)
scripts = pytest.mark.parametrize("script", [STREAM, SILENCE], ids=["chatty", "silent"])


def assert_gone(server: ServerProcess, exit_code: int = 0) -> None:
    assert finishes_within(SOON_SECONDS, lambda: server.wait(0) is not None)
    assert server.wait() == exit_code
    assert server.stderr() == ""


@stages
def test_the_server_ends_when_the_client_disconnects(
    tmp_path: Path, stage: Callable[[ServerProcess], None]
) -> None:
    with start_server(tmp_path, STREAM, new_interpreter=stage in STARTING) as server:
        stage(server)
        server.close_stdin()
        assert_gone(server)


def test_the_server_ends_when_the_client_disconnects_during_a_silent_turn(tmp_path: Path) -> None:
    with start_server(tmp_path, SILENCE) as server:
        prompting(server)
        server.close_stdin()
        assert_gone(server)


def test_the_server_ends_when_the_client_disconnects_without_reading(tmp_path: Path) -> None:
    with start_server(tmp_path, STREAM_FAST) as server:
        deaf(server)
        server.close_stdin()
        assert_gone(server)


def test_a_turn_that_ignores_cancellation_does_not_keep_the_server_alive(tmp_path: Path) -> None:
    with start_server(tmp_path, "prompt: *\nsay: now\ndeaf: 600s") as server:
        streaming(server)
        server.close_stdin()
        assert_gone(server)


def test_the_server_ends_when_the_client_vanishes(tmp_path: Path) -> None:
    with start_server(tmp_path, STREAM) as server:
        streaming(server)
        server.close_stdout()
        server.close_stdin()
        assert_gone(server)


def test_the_server_ends_on_the_next_write_when_the_client_stops_reading(
    tmp_path: Path,
) -> None:
    with start_server(tmp_path, STREAM) as server:
        streaming(server)
        server.close_stdout()
        assert_gone(server)


def test_the_server_ends_when_the_client_stops_reading_before_initialize(tmp_path: Path) -> None:
    with start_server(tmp_path) as server:
        server.close_stdout()
        server.start_request("initialize", {"protocolVersion": 1})
        assert_gone(server)


EXIT_CODES = {signal.SIGTERM: 0, signal.SIGHUP: 0, signal.SIGINT: 130}


@pytest.mark.parametrize(
    ("stage", "number"),
    [
        pytest.param(
            stage,
            number,
            id=f"{number.name}-{stage.__name__}",
            marks=() if stage is streaming or number is signal.SIGTERM else pytest.mark.full,
        )
        for number in EXIT_CODES
        for stage in STAGES
    ],
)
def test_a_signal_ends_the_server(
    tmp_path: Path,
    stage: Callable[[ServerProcess], None],
    number: signal.Signals,
) -> None:
    with start_server(tmp_path, STREAM, new_interpreter=stage in STARTING) as server:
        stage(server)
        if stage is nothing:  # a signal ends any process before its own code runs
            server.send_bytes(b" ")
            server.wait_until_input_read()
        server.process.send_signal(number)
        assert_gone(server, EXIT_CODES[number])


@scripts
@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGTERM, id="SIGTERM"),
        pytest.param(signal.SIGINT, id="SIGINT", marks=pytest.mark.full),
    ],
)
def test_a_prompt_running_during_a_signal_is_answered_as_cancelled(
    tmp_path: Path, script: str, number: signal.Signals
) -> None:
    with start_server(tmp_path, script) as server:
        idle(server)
        session_id = server.new_session()
        request_id = server.start_prompt(session_id)
        waiting = server.start_prompt(session_id, "behind it")
        barrier = server.start_request("no/such")
        server.receive_response(barrier)
        server.process.send_signal(number)
        answers = {
            str(message["id"]): message["result"]
            for message in server.receive_until_end()
            if "result" in message
        }
        cancelled = {"stopReason": "cancelled"}
        assert answers == {str(request_id): cancelled, str(waiting): cancelled}
        assert_gone(server, 130 if number == signal.SIGINT else 0)


def test_a_signal_ends_a_server_whose_client_does_not_read(tmp_path: Path) -> None:
    with start_server(tmp_path, STREAM_FAST) as server:
        deaf(server)
        server.process.terminate()
        assert_gone(server)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_second_signal_leaves_no_traceback(tmp_path: Path, number: signal.Signals) -> None:
    with start_server(tmp_path, STREAM_FAST) as server:
        deaf(server)
        for _ in range(3):
            server.process.send_signal(number)
            time.sleep(0.01)
        assert_gone(server, 130 if number == signal.SIGINT else 0)


def test_a_signal_right_after_a_disconnect_leaves_no_traceback(tmp_path: Path) -> None:
    with start_server(tmp_path, STREAM_FAST) as server:
        deaf(server)
        server.close_stdin()
        time.sleep(0.05)
        server.process.terminate()
        assert_gone(server)


def test_a_request_sent_right_before_a_disconnect_is_answered(tmp_path: Path) -> None:
    with start_server(tmp_path, SILENCE) as server:
        asked = [
            server.start_request("initialize", {"protocolVersion": 1}),
            server.start_request("session/new", {"cwd": str(tmp_path), "mcpServers": []}),
            server.start_request("no/such"),
        ]
        server.close_stdin()
        answers = {
            message["id"]: "result" in message
            for message in server.receive_until_end()
            if "id" in message
        }
        assert answers == dict(zip(asked, [True, True, False], strict=True))


async def test_a_turn_in_memory_is_cancelled_when_the_stream_ends(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path, SILENCE)) as editor:
        await editor.initialize()
        pending = editor.start_prompt(await editor.new_session(), "hi")
        await editor.disconnect()
        assert (await pending.response())["result"] == {"stopReason": "cancelled"}


def _wait_for(file: Path) -> None:
    deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
    while not file.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def chunks_in(messages: list[Object]) -> int:
    return sum("agent_message_chunk" in json.dumps(message) for message in messages)


def test_output_before_the_signal_is_delivered(tmp_path: Path) -> None:
    chunks = "chunks: 90 " + "x" * 1000  # more than the pipe holds, less than the server does
    note = "call: write_file\n  path: said.txt\n  content: all"
    script = f"prompt: *\n{chunks}\n{note}\nstep:\npause: 600s"
    command = command_line(tmp_path, script, ["--mode", "bypass"])
    with start_server(tmp_path, command=command) as server:
        idle(server)
        server.start_prompt(server.new_session(str(tmp_path)))
        _wait_for(tmp_path / "said.txt")
        server.process.terminate()
        rest = server.receive_until_end()
        assert chunks_in(rest) == 90
        assert rest[-1]["result"] == {"stopReason": "cancelled"}
        assert_gone(server)
