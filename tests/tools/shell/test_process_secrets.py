"""Commands outside the sandbox read neither the server's environment nor its memory."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from acp_server.permissions.reasons import OUTSIDE_SANDBOX
from acp_server.tools.shell.exposure import OTHER_PROCESS, OWN_MEMORY, describe_exposure
from tests.permissions.live_attempts import LiveAttempt, LiveAttempts, start_attempts
from tests.support.editor import json_at
from tests.tools.confinement.sandbox_setup import needs_landlock

SECRET = "sk-or-hush-4711-4711"  # noqa: S105  not a real one
VARIABLES = {"OPENROUTER_API_KEY": SECRET, "ANOTHER_NAME": "harmless-4711"}
NO_TRACING = ("setpriv", "--bounding-set", "-sys_ptrace")
"""Runs a program without the power to look into any process, which root has otherwise."""
linux_only = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="there is no /proc")


def read_server(live: LiveAttempts, file: str) -> subprocess.CompletedProcess[bytes]:
    """Read a file of the server's process, as a command outside the sandbox may."""
    command = ("cat", f"/proc/{live.server.process.pid}/{file}")
    return subprocess.run((*NO_TRACING, *command), capture_output=True, check=False)


@linux_only
@pytest.mark.parametrize("is_unconfined", [pytest.param(False, marks=pytest.mark.full), True])
@needs_landlock
def test_a_command_outside_the_sandbox_finds_no_key_of_the_server(
    tmp_path: Path, *, is_unconfined: bool
) -> None:
    command = "tr '\\0' '\\n' < /proc/$PPID/environ; echo end"
    arguments = {"command": command} | ({"unconfined": True} if is_unconfined else {})
    attempt = LiveAttempt("environment", tmp_path, "terminal", arguments)
    other = LiveAttempt("it", tmp_path, "terminal", {"command": "id", "unconfined": True})
    sandbox = "workspace" if is_unconfined else "off"
    with start_attempts(
        tmp_path / "home", [attempt, other], sandbox, VARIABLES, new_interpreter=True
    ) as live:
        live.answer = "allow_once"
        result = live.run(attempt, "ask")
        assert result.is_asked
        assert result.shows("end")
        assert not result.shows(SECRET)
        seen = Path(f"/proc/{live.server.process.pid}/environ").read_bytes()
        assert SECRET.encode() not in seen
        assert b"OPENROUTER_API_KEY=\0" in seen
        assert b"ANOTHER_NAME=harmless-4711" in seen
        if os.geteuid() == 0:
            assert read_server(live, "status").returncode == 0
            assert b"Permission denied" in read_server(live, "mem").stderr
        if is_unconfined:
            require_named_processes(live, other)


def require_named_processes(live: LiveAttempts, attempt: LiveAttempt) -> None:
    """Require that a question names the processes that would show keys."""
    holding = {"COPY": SECRET, "PATH": os.defpath}
    with subprocess.Popen(["sleep", "600"], env=holding) as holder:
        try:
            question = str(live.run(attempt, "ask").questions[0])
        finally:
            holder.kill()
    assert OUTSIDE_SANDBOX in question
    assert OTHER_PROCESS.format(name="sleep", pid=holder.pid) in question
    # Root may look into any process unless this power was taken away.
    has_all_powers = describe_powers() >> 19 & 1
    assert (OWN_MEMORY in question) == bool(has_all_powers)
    assert json_at(live.server.messages[-1], "result", "stopReason")


def describe_powers() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("CapEff:")[2].split()[0], 16)


def test_keys_from_a_file_are_in_no_environment() -> None:
    assert describe_exposure({}, ["OPENROUTER_API_KEY"], has_private_memory=True) == ""
    assert describe_exposure({}, [], has_private_memory=False) == OWN_MEMORY


def test_short_values_are_no_keys() -> None:
    environment = {"OPENROUTER_API_KEY": "1"}
    assert describe_exposure(environment, [*environment], has_private_memory=True) == ""
