"""`ssh host acp-server`: a slow link, paths with blanks, and a link that drops during a turn."""

import getpass
import json
import queue
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.smoke.delaying_proxy import DelayingProxy
from tests.smoke.server import DEADLINE_SECONDS
from tests.support.editor import Object, json_at

SCRIPT = """\
prompt: go
call: write_file
  {"path": "a b.txt", "content": "one\\n"}
step:
say: Written.

prompt: slow
say: Begun.
pause: 300s

prompt: *
say: Again.
"""
ONE_WAY_SECONDS = 0.05
SSHD = shutil.which("sshd") or shutil.which("sshd", path="/usr/sbin:/usr/local/sbin")

pytestmark = pytest.mark.skipif(
    SSHD is None or shutil.which("ssh") is None, reason="OpenSSH's server is not installed"
)


def unused_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextmanager
def ssh_server(directory: Path) -> Generator[int]:
    """Run an sshd that accepts one key; yield its port."""
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(directory / name)], check=True
        )
    port = unused_port()
    (directory / "sshd_config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {directory / 'host'}\nStrictModes no\n"
        f"AuthorizedKeysFile {directory / 'user.pub'}\nPidFile none\nUsePAM no\n"
        "PasswordAuthentication no\n",
        encoding="utf-8",
    )
    Path("/run/sshd").mkdir(exist_ok=True)
    command = [str(SSHD), "-D", "-e", "-f", str(directory / "sshd_config")]
    with (directory / "sshd.log").open("wb") as log, subprocess.Popen(command, stderr=log) as sshd:
        try:
            wait_for_port(port)
            yield port
        finally:
            sshd.terminate()


def wait_for_port(port: int) -> None:
    for _ in range(1000):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            threading.Event().wait(0.01)
        else:
            return
    pytest.fail("sshd does not listen")


class RemoteServer:
    """A client whose server runs at the other end of ssh."""

    def __init__(self, directory: Path, port: int) -> None:
        home, python = directory / "home", sys.executable
        remote = (
            f"HERMES_HOME='{home}' PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring "
            f"'{python}' -m acp_server serve --mode accept_edits "
            f"--model 'scripted:{directory / 'test.script'}'"
        )
        self.process = subprocess.Popen(
            [
                *("ssh", "-T", "-p", str(port), "-i", str(directory / "user"), "-F", "none"),
                *("-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"),
                *("-o", "BatchMode=yes", "-o", "LogLevel=ERROR"),
                *(f"{getpass.getuser()}@127.0.0.1", remote),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.updates: list[Object] = []
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def start(self, method: str, params: JsonValue) -> int:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        return self._number

    def receive(self) -> Object | None:
        """Return the next message; None once the connection has ended."""
        line = self._lines.get(timeout=DEADLINE_SECONDS)
        if not line:
            return None
        message: Object = json.loads(line)
        if "method" in message:
            self.updates.append(message)
        return message

    def call(self, method: str, params: JsonValue) -> JsonValue:
        number = self.start(method, params)
        while (message := self.receive()) is not None:
            if message.get("id") == number:
                assert "result" in message, message
                return message["result"]
        assert self.process.stderr is not None
        return pytest.fail(f"the connection ended: {self.process.stderr.read().decode()}")

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE_SECONDS)


def prompt(session_id: str, text: str) -> JsonValue:
    return {"sessionId": session_id, "prompt": [{"type": "text", "text": text}]}


def test_a_dropped_link_loses_nothing_and_the_session_goes_on(tmp_path: Path) -> None:
    project = tmp_path / "my project"
    project.mkdir()
    (tmp_path / "home").mkdir()
    (tmp_path / "test.script").write_text(SCRIPT, encoding="utf-8")
    with ExitStack() as stack:
        port = stack.enter_context(ssh_server(tmp_path))
        proxy = stack.enter_context(DelayingProxy(port, ONE_WAY_SECONDS))
        first = RemoteServer(tmp_path, proxy.port)
        stack.enter_context(first.process)
        first.call("initialize", {"protocolVersion": 1})
        workspace: dict[str, JsonValue] = {"cwd": str(project), "mcpServers": []}
        session_id = str(json_at(first.call("session/new", workspace), "sessionId"))
        assert json_at(first.call("session/prompt", prompt(session_id, "go")), "stopReason") == (
            "end_turn"
        )
        assert (project / "a b.txt").read_text(encoding="utf-8") == "one\n"
        first.start("session/prompt", prompt(session_id, "slow"))
        while "Begun." not in str(first.updates):
            assert first.receive() is not None
        proxy.drop()
        while first.receive() is not None:
            pass
        second = RemoteServer(tmp_path, proxy.port)
        stack.enter_context(second.process)
        second.call("initialize", {"protocolVersion": 1})
        load_until_free(second, {**workspace, "sessionId": session_id})
        texts = [
            json_at(each, "params", "update", "content", "text")
            for each in second.updates
            if "message_chunk" in str(json_at(each, "params", "update", "sessionUpdate"))
        ]
        assert texts == ["go", "Written.", "slow", "Begun."]
        answer = second.call("session/prompt", prompt(session_id, "and now?"))
        assert json_at(answer, "stopReason") == "end_turn"
        assert "Again." in str(second.updates)
        assert second.close() == 0


def load_until_free(server: RemoteServer, params: JsonValue) -> None:
    """Load a session, again while the server of the dropped link has not ended yet."""
    for _ in range(100):
        number = server.start("session/load", params)
        while (message := server.receive()) is not None and message.get("id") != number:
            pass
        if "result" in cast("Object", message):
            return
        assert "in another process" in str(message)
    pytest.fail("the first server does not end")
