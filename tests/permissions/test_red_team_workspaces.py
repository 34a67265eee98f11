"""Attempts by other ways than git, through the real process: in each mode, with each sandbox."""

import json
import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from pydantic import JsonValue

from tests.mcp.live_servers import PROGRAMS
from tests.permissions.live_attempts import MODES, LiveAttempt, SandboxMode, start_attempts
from tests.permissions.workspace_attempts import (
    CONTROL,
    build_attempts,
    create_hostile_workspace,
)
from tests.support.server_process import ServerProcess, start_server
from tests.tools.confinement.sandbox_setup import needs_landlock, needs_sandbox

with_sandboxes = pytest.mark.parametrize(
    "sandbox", ["off", pytest.param("workspace", marks=needs_sandbox)]
)
MIN_ATTEMPTS = 100


@pytest.mark.parametrize("step", [60, pytest.param(1, marks=pytest.mark.full)])
@with_sandboxes
def test_no_attempt_passes_unasked(tmp_path: Path, sandbox: SandboxMode, step: int) -> None:
    workspace = create_hostile_workspace(tmp_path)
    attempts = list(build_attempts(workspace))
    assert len(attempts) >= MIN_ATTEMPTS
    attempts = attempts[::step]
    control = LiveAttempt("control", workspace.root, "terminal", {"command": CONTROL})
    calls = [control, *(each.call for each in attempts)]
    with start_attempts(workspace.home, calls, sandbox, workspace.variables) as live:
        assert not live.run(control, "ask").is_asked
        assert workspace.trace.exists(), "the answers count"
        workspace.trace.unlink()
        broken = [
            (each.call.name, mode)
            for each in attempts
            for mode in MODES
            if not workspace.is_held(live, each, mode)
        ]
    assert broken == []


SCHEDULING = (
    "renice -n 19 -p PID",
    "ionice -c 3 -p PID",
    "taskset -p 1 PID",
    "prlimit --nofile=99:99 --pid PID",
    "chrt -b -p 0 PID",
    "kill -STOP PID",
)


def _state_of(process: psutil.Process) -> tuple[object, ...]:
    limits = process.rlimit(psutil.RLIMIT_NOFILE)
    state = process.nice(), process.ionice(), process.cpu_affinity(), limits
    is_stopped = process.status() == psutil.STATUS_STOPPED
    return (*state, os.sched_getscheduler(process.pid), is_stopped)


@needs_landlock
def test_a_confined_command_changes_no_process_outside(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        lines = [each.replace("PID", str(other.pid)) for each in SCHEDULING]
        calls = [
            LiveAttempt(each, tmp_path / "work", "terminal", {"command": each}) for each in lines
        ]
        process = psutil.Process(other.pid)
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write(b"x\n")
        other.stdin.flush()
        assert other.stdout.readline() == b"x\n"
        before = _state_of(process)
        with start_attempts(tmp_path / "home", calls, "workspace") as live:
            for mode in MODES:
                live.answer = "reject_once"
                # A mode decides about all of them alike; each is asked about below.
                assert live.run(calls[0], mode).has_failed
            live.answer = "allow_once"
            results = {each.name: live.run(each, "ask") for each in calls}
        assert [name for name, each in results.items() if not each.is_asked] == []
        assert _state_of(process) == before
        other.stdin.close()


def test_tools_of_a_server_are_marked_in_every_mode(tmp_path: Path) -> None:
    root, home = tmp_path / "work", tmp_path / "home"
    root.mkdir()
    (home / "acp").mkdir(parents=True)
    servers = {
        name: {"command": sys.executable, "args": [str(PROGRAMS / "server.py"), name]}
        for name in ("instructs", "bad-schemas")
    }
    (home / "acp/config.yaml").write_text(json.dumps({"mcp_servers": servers}))
    with start_server(home, "prompt: *\nsay: Hello.") as server:
        server.initialize()
        session = server.new_session(str(root))
        # It ends: connecting has a time limit of the server's own.
        while "connecting for" in _mcp_page(server, session):
            pass
        for mode in MODES:
            params: JsonValue = {"sessionId": session, "modeId": mode}
            assert "result" in server.call("session/set_mode", params)
            page = _mcp_page(server, session)
            assert "marked as data: described, argued, listed" in page
            assert "skipped: text: its input schema is not an object" in page


def _mcp_page(server: ServerProcess, session: str) -> str:
    seen = len(server.agent_text())
    server.prompt(session, "/mcp")
    return server.agent_text()[seen:]
