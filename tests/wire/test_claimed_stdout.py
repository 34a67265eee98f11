"""Nothing but the protocol reaches stdout, whatever else runs in the process or below it."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.server_process import HELLO_SCRIPT, command_line, environment, start_server

NOISY_SERVER = """
import os, subprocess, sys
from acp_server import __main__ as command
from acp_server.server import app

build = app.build_server

def noisy_build(*arguments, **named):
    child = "import sys; print('child'); print('child read', repr(sys.stdin.read()))"
    print("print", flush=True)
    print("original print", file=sys.__stdout__, flush=True)
    os.write(1, b"write\\n")
    subprocess.run([sys.executable, "-c", child], check=True)
    os.system("echo shell")
    sys.stdout.write("unflushed")
    print("stdin read", repr(sys.stdin.read()))
    return build(*arguments, **named)

app.build_server = noisy_build
command.main()
"""


def test_stray_output_of_print_write_and_child_processes_goes_to_stderr(tmp_path: Path) -> None:
    arguments = command_line(tmp_path)[3:]
    command = [sys.executable, "-c", NOISY_SERVER, *arguments]
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        session_id = server.new_session()
        assert server.prompt(session_id)["result"] == {"stopReason": "end_turn"}
        server.close_stdin()
        assert server.receive_until_end() == []
        assert server.wait() == 0
        stderr = server.stderr()
    for line in ["print", "original print", "write", "child", "child read ''", "shell"]:
        assert f"{line}\n" in stderr
    assert "unflushed" in stderr
    assert "stdin read ''" in stderr


def test_all_log_records_go_to_stderr(tmp_path: Path) -> None:
    command = command_line(tmp_path, HELLO_SCRIPT, ["--log-level", "debug"])
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        server.send_bytes(b"nonsense\n")
        assert "error" in server.receive()
        server.close_stdin()
        assert server.receive_until_end() == []
        assert server.wait() == 0
        assert "nonsense" not in server.stderr()
        assert "malformed line" in server.stderr()


WHERE_THEY_LEAD = """
import os
from acp_server.startup.handshake import claim_stdio
wire = claim_stdio()
ours = [os.fstat(wire.read), os.fstat(wire.write)]
shared = [n for n in (0, 1, 2) if any(os.path.samestat(os.fstat(n), each) for each in ours)]
inherited = [n for n in (0, 1, 2, wire.read, wire.write) if os.get_inheritable(n)]
os.write(wire.write, repr((shared, inherited)).encode())
"""


@pytest.mark.parametrize("redirection", ["", "2>&-", "2>/dev/null"])
def test_no_standard_descriptor_is_connected_to_the_client(
    tmp_path: Path, redirection: str
) -> None:
    finished = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", WHERE_THEY_LEAD],
        stdin=subprocess.PIPE,
        capture_output=True,
        env=environment(tmp_path),
        timeout=30,
        check=False,
    )
    assert finished.stdout == b"([], [0, 1, 2])"
