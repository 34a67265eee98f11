"""A server whose home is on a disk that gets full: the work goes on, and what can be kept is kept.

The disk is a small one in memory, which only a mount namespace of our own may have.
"""

import errno
import shutil
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.support.editor import Object, json_at
from tests.support.server_process import ServerProcess, command_line, start_server
from tests.support.user_texts import NO_LONGER_SAVED, NOTHING_CHANGED

SIZE = "4m"
SCRIPT = """\
prompt: remember
call: memory
  action: add
  content: likes tea
step:
say: Remembered.

prompt: write
call: write_file
  path: story.txt
  content: once upon a time
step:
say: Written.

prompt: *
say: Hello.
"""
IN_NAMESPACE = 'mount -t tmpfs -o size="$1" tmpfs "$2" && cp "$3" "$2" && shift 3 && exec "$@"'


def may_mount() -> bool:
    """Whether a file system of our own can be had."""
    if sys.platform != "linux" or shutil.which("unshare") is None:
        return False
    command = ["unshare", "-m", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not may_mount(), reason="needs the right to mount (root on Linux)")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def server(tmp_path: Path, home: Path) -> Generator[ServerProcess]:
    """A server on a small disk, with its script in the home."""
    served = command_line(tmp_path, SCRIPT, ["--mode", "accept_edits"])
    mounted = ["unshare", "-m", "sh", "-c", IN_NAMESPACE, "sh", SIZE, str(home)]
    with start_server(home, command=[*mounted, str(tmp_path / "test.script"), *served]) as running:
        running.initialize()
        yield running


class Filler:
    """What takes up all room on the disk; the home is seen through the server's eyes."""

    def __init__(self, server: ServerProcess, home: Path) -> None:
        self.file_effect = Path(f"/proc/{server.process.pid}/root{home}")
        self._file = self.file_effect / "filler"

    def fill(self) -> None:
        """Write until nothing more can be written."""
        with self._file.open("ab", buffering=0) as file:
            for size in (65_536, 4096, 1):
                try:
                    while True:
                        file.write(b"x" * size)
                except OSError as error:
                    assert error.errno == errno.ENOSPC  # noqa: PT017  it is what was waited for

    def clear(self) -> None:
        """Give the room back."""
        self._file.unlink()


def prompted(server: ServerProcess, session: str, text: str) -> str:
    """Have a prompt answered; return all that was shown of its turn."""
    seen = len(server.messages)
    response = server.prompt(session, text)
    assert json_at(response, "result", "stopReason") == "end_turn", response
    return str(server.messages[seen:])


def load(server: ServerProcess, session: str, folder: Path) -> Object:
    """Take a session up again."""
    params: JsonValue = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
    return server.call("session/load", params)


def test_turns_continue_on_a_full_disk_and_nothing_is_lost_once_space_returns(
    tmp_path: Path, home: Path, server: ServerProcess
) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    session = server.new_session(str(workspace))
    prompted(server, session, "before")
    disk = Filler(server, home)
    disk.fill()

    responses = [prompted(server, session, f"meanwhile {'x' * 20_000} {n}") for n in range(4)]
    assert [NO_LONGER_SAVED in each for each in responses].count(True) == 1
    assert NOTHING_CHANGED in prompted(server, session, "remember")
    assert "Written." in prompted(server, session, "write")
    assert (workspace / "story.txt").read_text() == "once upon a time"

    disk.clear()
    assert "Remembered." in prompted(server, session, "remember after all")
    assert (disk.file_effect / "memories/MEMORY.md").read_text() == "likes tea\n"
    seen = len(server.messages)
    assert "result" in load(server, session, workspace)
    again = str(server.messages[seen:])
    assert all(word in again for word in ("before", "remember after all"))
    with_temporary_names = [path.name for path in disk.file_effect.rglob(".*.*")]
    assert with_temporary_names == []
    server.close_stdin()
    assert server.wait() == 0
