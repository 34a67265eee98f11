"""What is known of a session is on the disk as soon as it has happened: read behind a kill."""

import json
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from tests.support.editor import Object, json_at
from tests.support.messages_api import KEY, call, messages_api_in_thread, reply
from tests.support.server_process import SERVER, ServerProcess, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

MODEL = "claude-opus-5-5"
WRITTEN_WITHIN_SECONDS = 0.1
SLACK_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Disk:
    """What a killed server has left."""

    facts: dict[str, object]
    calls: list[Object]
    messages: list[Object]
    system: str | None


def read(home: Path, session: str) -> Disk:
    """Read the database itself."""
    with closing(sqlite3.connect(home / "acp" / "sessions.db")) as connection:
        connection.row_factory = sqlite3.Row
        row = connection.execute("SELECT * FROM sessions WHERE id = ?", (session,)).fetchone()
        entries = connection.execute(
            "SELECT body FROM entries WHERE session_id = ? AND kind LIKE '%call'", (session,)
        ).fetchall()
        messages = connection.execute(
            "SELECT body FROM messages WHERE session_id = ? ORDER BY seq", (session,)
        ).fetchall()
        system = connection.execute("SELECT text FROM prompts WHERE session_id = ?", (session,))
        found = system.fetchone()
    bodies = [[json.loads(each[0]) for each in rows] for rows in (entries, messages)]
    return Disk(dict(row), bodies[0], bodies[1], None if found is None else found[0])


def kill(server: ServerProcess) -> None:
    """End it at once."""
    server.process.kill()
    server.process.wait()


def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that the server does by itself."""
    deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_an_answer_and_everything_before_it_are_saved_before_the_call_runs(
    tmp_path: Path,
) -> None:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()
    script = [
        reply("I write.", call("write_file", path="a.txt", content="one\n")),
        reply("And run.", call("terminal", command="touch begun; sleep 60")),
    ]
    with messages_api_in_thread(script) as api:
        variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY}
        command = (*SERVER, "serve", "--model", MODEL)
        with start_server(home, command=command, variables=variables) as server:
            server.initialize()
            session = server.new_session(str(workspace))
            server.start_prompt(session, "Write it,\nthen run it")
            for _ in range(2):
                allow_next(server)
            until((workspace / "begun").exists)
            kill(server)
    disk = read(home, session)
    states = [json_at(each, "state", "permission") for each in disk.calls]
    assert states == ["allow_once", "allow_once"]
    assert json_at(disk.calls[0], "state", "status") == "completed"
    assert "FileDiff" in json.dumps(disk.calls[0])
    assert [json_at(each, "type") for each in disk.messages] == [
        "UserMessage",
        "AssistantMessage",
        "UserMessage",
        "AssistantMessage",
    ]
    assert disk.facts["title"] == "Write it,"
    assert disk.facts["requests"] in {1, 2}
    assert isinstance(disk.facts["context_tokens"], int)
    assert disk.facts["context_tokens"] > 0
    assert isinstance(disk.facts["cost_usd"], float)
    assert disk.facts["cost_usd"] > 0
    assert disk.facts["is_turn_open"]
    assert disk.system is not None


def allow_next(server: ServerProcess) -> None:
    """Allow the next thing that the server asks for, once."""
    while (request := server.receive()).get("method") != "session/request_permission":
        pass
    options = json_at(request, "params", "options")
    assert isinstance(options, list)
    chosen = next(json_at(o, "optionId") for o in options if json_at(o, "kind") == "allow_once")
    result: JsonValue = {"outcome": {"outcome": "selected", "optionId": chosen}}
    server.send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def test_a_mode_and_an_option_are_saved_a_tenth_of_a_second_later(tmp_path: Path) -> None:
    with start_server(tmp_path) as server:
        server.initialize()
        session = server.new_session(str(tmp_path))
        server.prompt(session, "hi")
        server.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        time.sleep(WRITTEN_WITHIN_SECONDS + SLACK_SECONDS)  # what is measured, not waited for
        kill(server)
    assert read(tmp_path, session).facts["mode"] == "plan"
    with start_server(tmp_path) as server:
        server.initialize()
        params: JsonValue = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        response = server.call("session/load", params)
        assert json_at(response, "result", "modes", "currentModeId") == "plan"
        option: JsonValue = {"sessionId": session, "configId": "mode", "value": "accept_edits"}
        server.call("session/set_config_option", option)
        time.sleep(WRITTEN_WITHIN_SECONDS + SLACK_SECONDS)
        kill(server)
    assert read(tmp_path, session).facts["mode"] == "accept_edits"
