"""A server that is killed while it keeps what a turn starts from, or what it has made.

Real processes. Whatever the moment: no file is half of anything, what was kept can be read, the
session's turn can be undone, and the next one is kept and undone as if nothing had been.
"""

import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from pydantic import JsonValue

from tests.checkpoints.scripts import Entry, entries
from tests.support.editor import Object, is_update, json_at, prompt_params
from tests.support.server_process import ServerProcess, model_id, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
SCRIPT = """\
prompt: change
call: write_file
  path: a.txt
  content: by a tool
call: terminal
  command: for f in part*; do echo turn >> $f; done
step:
say: Done.

prompt: later
call: terminal
  command: echo later > later.txt; echo later >> part1; rm part2
step:
say: Done.

prompt: *
say: Hello.
"""
ALLOWED: JsonValue = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}
FILE_BYTES = 10_000
SHORT, LONG = 2, 40
FILES = {SHORT: 60, LONG: 300}
SPAN_SECONDS = {SHORT: 0.5, LONG: 0.9}
"""About what a turn takes that has all these files kept."""
MOMENTS = [
    *(pytest.param(n, SHORT, id=f"short-{n}") for n in range(SHORT)),
    *(pytest.param(n, LONG, id=f"{n}", marks=pytest.mark.full) for n in range(LONG)),
]


@pytest.mark.parametrize(("number", "count"), MOMENTS)
def test_checkpoints_of_a_killed_server_are_valid_and_restore_everything(
    tmp_path: Path, number: int, count: int
) -> None:
    chance = random.Random(number)  # noqa: S311  no secret
    folder = tmp_path / "workspace"
    create_files(folder, chance, FILES[count])
    before = entries(folder)
    seconds = SPAN_SECONDS[count] * (number + chance.random()) / count
    session = kill_in_turn(tmp_path, folder, seconds)
    wait_for_orphans(folder)
    killed = without_leftovers(folder)
    assert_each_is_old_or_new(before, killed)
    assert_store_is_sound(tmp_path)
    with start_server(tmp_path, command=command(tmp_path)) as server:
        server.initialize()
        params: JsonValue = {"sessionId": session, "cwd": str(folder), "mcpServers": []}
        if "result" in server.call("session/load", params):
            output = run_undo(server, session)
            assert without_leftovers(folder) == before, output
        fresh = server.new_session(str(folder))
        now = without_leftovers(folder)
        server.prompt(fresh, "later")
        assert without_leftovers(folder) != now
        assert run_undo(server, fresh).startswith("Restored to before “later”")
        assert without_leftovers(folder) == now


def command(home: Path) -> list[str]:
    (home / "test.script").write_text(SCRIPT, encoding="utf-8")
    return [
        *(sys.executable, "-m", "acp_server", "serve"),
        *("--model", model_id(home), "--mode", "bypass"),
    ]


def create_files(folder: Path, chance: random.Random, count: int) -> None:
    folder.mkdir()
    (folder / "a.txt").write_text("old\n")
    for number in range(count):
        (folder / f"part{number}").write_bytes(chance.randbytes(FILE_BYTES))


def kill_in_turn(home: Path, folder: Path, seconds: float) -> str:
    """Kill a server so many seconds after it was sent a prompt; return the session's id."""
    with start_server(home, command=command(home)) as server:
        server.initialize()
        session = server.new_session(str(folder))
        server.prompt(session, "hello")  # the first prompt also waits for what is imported late
        server.start_prompt(session, "change")
        time.sleep(seconds)
        server.process.kill()
        server.process.wait()
    return session


def wait_for_orphans(folder: Path) -> None:
    """Wait until nothing works in a folder any more."""
    deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
    while any(map(works_in(folder), psutil.process_iter())):
        assert time.monotonic() < deadline, "something goes on without the server"
        time.sleep(0.02)


def works_in(folder: Path) -> Callable[[psutil.Process], bool]:
    def works(process: psutil.Process) -> bool:
        try:
            return process.status() != psutil.STATUS_ZOMBIE and process.cwd() == str(folder)
        except psutil.Error:
            return False

    return works


def without_leftovers(folder: Path) -> dict[str, Entry]:
    """Return all files but those of a write that was cut off: these have names of their own."""
    found = entries(folder)
    return {name: entry for name, entry in found.items() if not Path(name).name.startswith(".")}


def assert_each_is_old_or_new(before: dict[str, Entry], now: dict[str, Entry]) -> None:
    assert set(now) == set(before)
    for name, (kind, data, mode) in before.items():
        new = b"by a tool" if name == "a.txt" else data + b"turn\n"
        assert now[name] in {(kind, data, mode), (kind, new, mode)}, name


def assert_store_is_sound(home: Path) -> None:
    """Look through all that is kept; a repository has a head once it was made, whole or not."""
    for head in (home / "acp" / "checkpoints").glob("*/git/HEAD"):
        done = subprocess.run(
            ["git", "--git-dir", str(head.parent), "fsck", "--full", "--no-dangling"],
            check=False,
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stdout) == (0, ""), done.stderr


def run_undo(server: ServerProcess, session: str) -> str:
    """Have the last turn undone, with a yes to all that is asked; return what was said."""
    start = len(server.messages)
    number = server.start_request("session/prompt", prompt_params(session, "/undo"))
    while True:
        message = server.receive()
        if message.get("method") == "session/request_permission":
            server.send({"jsonrpc": "2.0", "id": message["id"], "result": ALLOWED})
        elif "method" not in message and message["id"] == number:
            break
    return message_text(server.messages[start:])


def message_text(messages: list[Object]) -> str:
    updates = [json_at(each, "params", "update") for each in messages if is_update(each)]
    chunks = [u for u in updates if json_at(u, "sessionUpdate") == "agent_message_chunk"]
    return "".join(str(json_at(each, "content", "text")) for each in chunks)
