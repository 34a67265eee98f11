"""The real server in a process of its own, and the processes of the servers of its sessions."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.mcp.live_servers import server_program
from tests.mcp.mcp_editor import to_wire
from tests.mcp.test_lives import running_processes
from tests.support.editor import json_at
from tests.support.server_process import ServerProcess, command_line, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

IMPORTED = "_spy/the_sdk_is_imported"
SPY = f"""
import sys

class Spy:
    def find_spec(self, name, path=None, target=None):
        if name in ("mcp", "mcp_types"):
            sys.meta_path.remove(self)
            sys.stderr.write('{{"jsonrpc": "2.0", "method": "{IMPORTED}"}}\\n')
            sys.stderr.flush()

sys.meta_path.insert(0, Spy())
"""
"""Says on stderr when the SDK begins to be imported."""


def open_with_server(server: ServerProcess, folder: Path, *behaviors: str) -> Path:
    """Open a session with a server, and wait until that is connected; return what it tells."""
    server_log = folder / "told"
    named: list[JsonValue] = [
        to_wire(server_program("s", *behaviors, environment={"TOLD": str(server_log)}))
    ]
    answer = server.call("session/new", {"cwd": str(folder), "mcpServers": named})
    session = str(json_at(answer, "result", "sessionId"))
    deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
    while "): connected" not in command_output(server, session, "/mcp"):
        assert time.monotonic() < deadline, "it is not connected"
        time.sleep(0.05)  # a prompt for each look takes time from what it waits for
    return server_log


def command_output(server: ServerProcess, session: str, command: str) -> str:
    seen = len(server.messages)
    server.prompt(session, command)
    return "".join(
        str(json_at(message, "params", "update", "content", "text"))
        for message in server.messages[seen:]
        if "agent_message_chunk" in str(message)
    )


def terminate(server: ServerProcess) -> None:
    server.process.send_signal(signal.SIGTERM)


def kill(server: ServerProcess) -> None:
    server.process.kill()


@pytest.mark.parametrize(
    ("leave", "traits"),
    [
        pytest.param(ServerProcess.close_stdin, ("stays", "child"), id="the editor hangs up"),
        pytest.param(terminate, ("child",), id="it is terminated", marks=pytest.mark.full),
        pytest.param(kill, ("stays", "child"), id="it is killed"),
    ],
)
def test_servers_end_with_the_process_however_it_ends(
    tmp_path: Path, leave: Callable[[ServerProcess], None], traits: tuple[str, ...]
) -> None:
    with start_server(tmp_path) as server:
        server.initialize()
        server_log = open_with_server(server, tmp_path, *traits)
        assert len(running_processes(server_log)) == 2
        leave(server)
        assert server.wait() is not None
    deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
    while running_processes(server_log):
        assert time.monotonic() < deadline, "they outlive it"
        time.sleep(0.01)  # for what other processes do, there is no event


def test_the_sdk_is_imported_only_after_a_session_with_servers_was_answered(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(SPY)
    path = f"PYTHONPATH={tmp_path}{os.pathsep}{Path.cwd()}"
    wrapped = ("/bin/sh", "-c", 'exec "$@" 2>&1', "sh")  # one pipe, so that there is an order
    command = [*wrapped, "env", path, *command_line(tmp_path)]
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        bare = server.new_session(str(tmp_path))
        server.prompt(bare)
        command_output(server, bare, "/mcp")
        before = len(server.messages)
        assert IMPORTED not in str(server.messages)
        named: list[JsonValue] = [to_wire(server_program("s"))]
        server.start_request("session/new", {"cwd": str(tmp_path), "mcpServers": named})
        while server.receive().get("method") != IMPORTED:
            continue
    after = server.messages[before:]
    answered = next(at for at, message in enumerate(after) if "sessionId" in str(message))
    imported = next(at for at, message in enumerate(after) if message.get("method") == IMPORTED)
    assert answered < imported
