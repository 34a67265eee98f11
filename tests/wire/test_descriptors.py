"""The server on every kind of descriptor that something may start it with."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.server.app import FLUSH_SECONDS
from tests.support.editor import Object, check_message
from tests.support.server_process import (
    HELLO_SCRIPT,
    ConnectionEnds,
    command_line,
    environment,
    open_nonblocking_pipes,
    open_pipes,
    open_sockets,
    open_terminal,
    start_server,
)

KINDS = {"pipes": open_pipes, "nonblocking pipes": open_nonblocking_pipes, "sockets": open_sockets}
CHUNKS = 60
LONG = f"prompt: *\nchunks: {CHUNKS} " + "x" * 5000
INITIALIZE: Object = {
    "jsonrpc": "2.0",
    "id": "hello",
    "method": "initialize",
    "params": {"protocolVersion": 1},
}


@pytest.mark.parametrize("ends", KINDS.values(), ids=KINDS.keys())
def test_a_conversation_of_any_size_works_in_both_directions(
    tmp_path: Path, ends: Callable[[], ConnectionEnds]
) -> None:
    with start_server(tmp_path, LONG, connection=ends()) as server:
        server.initialize()
        session_id = server.new_session()
        assert server.prompt(session_id, "x" * 300_000)["result"] == {"stopReason": "end_turn"}
        assert len(server.agent_text()) == CHUNKS * 5000
        server.close_stdin()
        if ends is open_sockets:
            server.close_stdout()  # the same socket: only both together hang up
        assert (server.wait(), server.stderr()) == (0, "")


def test_a_conversation_works_on_a_terminal_and_the_user_gets_a_hint(
    tmp_path: Path,
) -> None:
    with start_server(tmp_path, LONG, connection=open_terminal()) as server:
        server.initialize()
        assert server.prompt(server.new_session(), "x" * 10_000)["result"] == {
            "stopReason": "end_turn"
        }
        server.close_stdin()
        server.close_stdout()
        assert server.wait() == 0
        hint = server.stderr().splitlines()
    assert len(hint) == 2
    assert hint[0].startswith("acp-server is waiting for an Agent Client Protocol client")


@dataclass(frozen=True)
class ServerRunResult:
    """What came of a server that was run to its end."""

    exit_code: int
    messages: list[Object]
    stderr: str


def run_on_files(home: Path, data: bytes, script: str = HELLO_SCRIPT) -> ServerRunResult:
    """Run the server as `acp-server < in.jsonl > out.jsonl` does."""
    (home / "in.jsonl").write_bytes(data)
    read, write = os.pipe()
    stdin = os.open(home / "in.jsonl", os.O_RDONLY)
    stdout = os.open(home / "out.jsonl", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    ends = ConnectionEnds(stdin, stdout, write, read)
    with start_server(home, script, connection=ends) as server:
        exit_code = server.wait()
        assert exit_code is not None
        stderr = server.stderr()
    lines = (home / "out.jsonl").read_bytes().splitlines()
    return ServerRunResult(exit_code, [check_message(each) for each in lines], stderr)


def lines_of(*messages: JsonValue) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


def new_session(name: str) -> JsonValue:
    params: JsonValue = {"cwd": "/", "mcpServers": []}
    return {"jsonrpc": "2.0", "id": name, "method": "session/new", "params": params}


def test_every_line_of_a_file_is_answered(tmp_path: Path) -> None:
    names = [f"session {number}" for number in range(100)]
    completed = run_on_files(tmp_path, lines_of(INITIALIZE, *map(new_session, names)))
    answered = [message["id"] for message in completed.messages if "result" in message]
    assert sorted(map(str, answered)) == sorted(["hello", *names])
    assert (completed.exit_code, completed.stderr) == (0, "")


def test_the_last_line_of_a_file_is_answered_without_its_newline(tmp_path: Path) -> None:
    completed = run_on_files(tmp_path, lines_of(INITIALIZE, new_session("last")).rstrip())
    assert [message.get("id") for message in completed.messages if "result" in message] == [
        "hello",
        "last",
    ]
    assert completed.exit_code == 0


def test_a_file_containing_only_an_initialize_is_answered(tmp_path: Path) -> None:
    for data in (lines_of(INITIALIZE), lines_of(INITIALIZE).rstrip()):
        completed = run_on_files(tmp_path, data)
        assert [message["id"] for message in completed.messages] == ["hello"]
        assert (completed.exit_code, completed.stderr) == (0, "")


@pytest.mark.parametrize("count", [1_500, pytest.param(20_000, marks=pytest.mark.full)])
def test_every_malformed_line_of_a_long_file_is_answered(tmp_path: Path, count: int) -> None:
    completed = run_on_files(tmp_path, b"nonsense\n" * count + lines_of(INITIALIZE))
    assert [message["id"] for message in completed.messages] == [*[None] * count, "hello"]
    assert completed.exit_code == 0


def test_an_empty_file_counts_as_no_client(tmp_path: Path) -> None:
    assert run_on_files(tmp_path, b"") == ServerRunResult(0, [], "")


def test_dev_null_as_stdin_counts_as_no_client(tmp_path: Path) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    read, write = os.pipe()
    unused = os.open(os.devnull, os.O_WRONLY)
    with start_server(tmp_path, connection=ConnectionEnds(nothing, write, unused, read)) as server:
        assert server.receive_until_end() == []
        assert (server.wait(), server.stderr()) == (0, "")


def test_dev_null_as_stdout_is_accepted(tmp_path: Path) -> None:
    read, write = os.pipe()
    unused = os.open(os.devnull, os.O_RDONLY)
    ends = ConnectionEnds(read, os.open(os.devnull, os.O_WRONLY), write, unused)
    with start_server(tmp_path, connection=ends) as server:
        server.send(INITIALIZE)
        server.send(new_session("x"))
        server.close_stdin()
        assert (server.wait(), server.stderr()) == (0, "")


def shell(home: Path, redirection: str, stdin: bytes = b"") -> ServerRunResult:
    """Run the server through a shell, which can close descriptors."""
    finished = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", *command_line(home)],
        input=stdin,
        capture_output=True,
        env=environment(home),
        timeout=30,
        check=False,
    )
    messages = [check_message(line) for line in finished.stdout.splitlines()]
    return ServerRunResult(finished.returncode, messages, finished.stderr.decode())


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_stdin_or_stdout_is_reported_in_one_line(tmp_path: Path, closed: str) -> None:
    completed = shell(tmp_path, closed)
    assert (completed.exit_code, completed.messages) == (1, [])
    assert completed.stderr.startswith("acp-server: stdin and stdout must be open: ")
    assert completed.stderr.count("\n") == 1


def test_a_closed_stderr_is_tolerated(tmp_path: Path) -> None:
    completed = shell(tmp_path, "2>&-", lines_of(INITIALIZE) + b"nonsense\n")
    assert [message["id"] for message in completed.messages] == ["hello", None]
    assert completed.exit_code == 0


def test_a_slow_reader_gets_every_response_to_a_file(tmp_path: Path) -> None:
    unknown: list[JsonValue] = [
        {"jsonrpc": "2.0", "id": number, "method": "no/such"} for number in range(3000)
    ]
    (tmp_path / "in.jsonl").write_bytes(lines_of(INITIALIZE, *unknown))
    stdin = os.open(tmp_path / "in.jsonl", os.O_RDONLY)
    read, write = os.pipe()
    unused = os.open(os.devnull, os.O_WRONLY)
    with start_server(tmp_path, connection=ConnectionEnds(stdin, write, unused, read)) as server:
        assert server.wait(2 * FLUSH_SECONDS) is None  # however long the reader takes
        assert sorted(str(each["id"]) for each in server.receive_until_end()) == sorted(
            ["hello", *(str(number) for number in range(3000))]
        )
        assert (server.wait(), server.stderr()) == (0, "")
