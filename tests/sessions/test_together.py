"""Several servers on one home, all writing: no lost entry, no lock that a user sees, nothing torn.

Each server remembers something with every prompt, in sessions of its own, some of which it deletes.
"""

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.memory.store import MemoryStores
from prompt_engine.threats import scan
from tests.sessions.test_kept import sessions_of_page
from tests.support.editor import json_at
from tests.support.server_process import SERVER, ServerProcess, start_server
from tests.support.user_texts import NO_LONGER_SAVED

SERVERS = 4
PROMPTS_PER_SESSION = 10
MOST_PROMPTS_PER_SECOND = 20
"""A script is read anew for each session, which takes a while if it is long."""
LIMIT_CHARACTERS = 10_000_000
BLOCK = """\
prompt: number {number:04};
call: memory
  action: add
  target: memory
  content: {words}
step:
say: Remembered.

"""


@dataclass(slots=True)
class Work:
    """What one server has done."""

    entries: list[str] = field(default_factory=list[str])
    sessions: dict[str, int] = field(default_factory=dict[str, int])
    """How many prompts each session had; deleted ones are not among them."""
    deleted: list[str] = field(default_factory=list[str])
    errors: list[str] = field(default_factory=list[str])


def words(server: int, number: int) -> str:
    """What is remembered with a prompt."""
    return f"Server {server} has done its task {number}"


def script(home: Path, server: int, most: int) -> Path:
    """A script in which each of so many prompts has something of its own to remember."""
    blocks = (BLOCK.format(number=n, words=words(server, n)) for n in range(most))
    path = home / f"{server}.script"
    path.write_text("".join((*blocks, "prompt: *\nsay: Hello.\n")), encoding="utf-8")
    return path


def work(server: ServerProcess, number: int, home: Path, seconds: float) -> Work:
    """Prompt until time is up, once all that is needed is imported."""
    done = Work()
    server.prompt(server.new_session(str(home)))
    deadline = time.monotonic() + seconds
    most = seconds * MOST_PROMPTS_PER_SECOND
    while time.monotonic() < deadline and len(done.entries) < most:
        session = server.new_session(str(home))
        done.sessions[session] = 0
        for _ in range(PROMPTS_PER_SESSION):
            count = len(done.entries)
            response = server.prompt(session, f"number {count:04};")
            if json_at(response, "result", "stopReason") == "end_turn":
                done.entries.append(words(number, count))
                done.sessions[session] += 1
        server.call("session/list", {})
        if (len(done.sessions) + len(done.deleted)) % 3 == 0:
            server.call("session/delete", {"sessionId": session})
            done.deleted.append(session)
            del done.sessions[session]
        else:
            server.call("session/close", {"sessionId": session})
    output = json.dumps(server.messages)
    signs = ("is locked", "has locked", NO_LONGER_SAVED, '"error"', "failed")
    done.errors += [word for word in signs if word in output]
    return done


def together(home: Path, seconds: float) -> list[Work]:
    """Have all servers work at once; return what each has done."""
    config = f"memory: {{memory_char_limit: {LIMIT_CHARACTERS}}}\n"
    (home / "config.yaml").write_text(config, encoding="utf-8")
    with ExitStack() as stack, ThreadPoolExecutor(SERVERS) as threads:
        servers: list[ServerProcess] = []
        for number in range(SERVERS):
            most = int(seconds * MOST_PROMPTS_PER_SECOND) + PROMPTS_PER_SESSION
            model = f"scripted:{script(home, number, most)}"
            command = (*SERVER, "serve", "--model", model, "--mode", "bypass")
            folder = home / str(number)
            folder.mkdir()
            variables = {"HERMES_HOME": str(home)}
            server = start_server(folder, command=command, variables=variables)
            servers.append(stack.enter_context(server))
            servers[-1].initialize()
        futures = [
            threads.submit(partial(work, server, number, home, seconds))
            for number, server in enumerate(servers)
        ]
        done = [each.result() for each in futures]
        for server in servers:
            assert "locked" not in server.stderr()
            server.close_stdin()
            server.receive_until_end()
            assert server.wait() == 0
    return done


def check(home: Path, done: list[Work]) -> None:
    """Nothing is lost, nothing was refused, nothing is torn."""
    assert [each.errors for each in done] == [[]] * SERVERS
    entries = MemoryStores(home, {"memory": LIMIT_CHARACTERS}, scan).contents("memory").entries
    assert sorted(entries) == sorted(entry for each in done for entry in each.entries)
    json.loads((home / "acp" / "memory_index.json").read_text(encoding="utf-8"))
    with closing(sqlite3.connect(home / "acp" / "sessions.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        prompts = dict(
            connection.execute(
                "SELECT session_id, count(*) FROM entries WHERE kind = 'PromptReceived'"
                " GROUP BY session_id"
            ).fetchall()
        )
    for each in done:
        assert {session: prompts.get(session, 0) for session in each.sessions} == each.sessions
        assert not set(each.deleted) & set(prompts)
    with start_server(home) as server:
        server.initialize()
        page = server.call("session/list", {})["result"]
        for session in sessions_of_page(page)[:5]:
            params: JsonValue = {
                "sessionId": json_at(session, "sessionId"),
                "cwd": str(home),
                "mcpServers": [],
            }
            assert "result" in server.call("session/load", params)


def test_four_servers_can_write_concurrently_for_half_a_second(tmp_path: Path) -> None:
    done = together(tmp_path, 0.5)
    check(tmp_path, done)


@pytest.mark.full
def test_four_servers_can_write_concurrently_for_half_a_minute(tmp_path: Path) -> None:
    done = together(tmp_path, 30.0)
    check(tmp_path, done)
    print([(len(each.entries), len(each.sessions)) for each in done])  # noqa: T201  figures
