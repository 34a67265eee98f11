"""The official TypeScript SDK as an editor: its files, its terminals, its user's leave."""

import json
import subprocess
from itertools import groupby
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from tests.smoke import server
from tests.support.editor import Object, json_at
from tests.support.node_clients import node_clients
from tests.support.published_schema import schema_errors
from tests.support.server_process import command_line, environment, forked

PROGRAM = Path(__file__).with_name("typescript_worker.mjs")
COMMAND = "sort greeting.txt | tee sorted.txt; exit 3"


@pytest.mark.parametrize("mode", [pytest.param("bypass", marks=pytest.mark.full), "ask"])
def test_the_typescript_sdk_sees_the_plan_the_edit_and_the_terminal(
    tmp_path: Path, mode: str
) -> None:
    home, workspace = (tmp_path / name for name in ("home", "work space"))
    home.mkdir()
    workspace.mkdir()
    greeting = workspace / "greeting.txt"
    greeting.write_text("Hello there.\n")

    seen = run_turn(home, workspace, mode)

    assert seen["stopReason"] == "end_turn"
    assert seen["left"] == []
    assert greeting.read_text() == "Hello world.\n"
    requests = cast("list[tuple[str, Object]]", seen["asked"])
    questions = [params for method, params in requests if method == "session/request_permission"]
    titles = [json_at(each, "toolCall", "title") for each in questions]
    assert titles == ([] if mode == "bypass" else ["Edit greeting.txt", f"`{COMMAND}`"])
    methods = [method for method, _ in requests if method != "session/request_permission"]
    assert [method for method, _ in groupby(methods)] == [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/wait_for_exit",
        "terminal/output",
        "terminal/release",
    ]
    assert all(Path(str(p["path"])) == greeting for m, p in requests if m.startswith("fs/"))
    assert_shown(cast("list[JsonValue]", seen["updates"]), greeting)


def run_turn(home: Path, workspace: Path, mode: str) -> Object:
    """Return what the client was asked and shown in a turn of work."""
    command = command_line(home, server.WORK, ("--mode", mode))
    command = forked(command) if mode == "ask" else command
    program = [server.find_node(), str(PROGRAM), str(node_clients()), str(workspace)]
    completed = subprocess.run(
        [*program, *command],
        env=environment(home),
        capture_output=True,
        timeout=server.DEADLINE_SECONDS,
        check=True,
    )
    assert completed.stderr == b""
    return json.loads(completed.stdout)


def assert_shown(updates: list[JsonValue], greeting: Path) -> None:
    assert [fault for each in updates for fault in schema_errors("SessionUpdate", each)] == []
    plans = [
        json_at(each, "entries") for each in updates if json_at(each, "sessionUpdate") == "plan"
    ]
    entry = {"content": "Greet the world", "priority": "medium", "status": "in_progress"}
    assert plans == [[entry]]
    diff = {
        "type": "diff",
        "path": str(greeting),
        "oldText": "Hello there.\n",
        "newText": "Hello world.\n",
    }
    terminal = {"type": "terminal", "terminalId": "terminal 1"}
    assert last_of(updates, "edit") == ("Edit greeting.txt", "completed", [diff])
    made: JsonValue = {
        "type": "diff",
        "path": str(greeting.with_name("sorted.txt")),
        "oldText": None,
        "newText": "Hello world.\n",
    }
    assert last_of(updates, "execute") == (f"`{COMMAND}`", "failed", [terminal, made])


def last_of(updates: list[JsonValue], kind: str) -> tuple[JsonValue, JsonValue, JsonValue]:
    """Return the title, the status and the content that a call of a kind had in the end."""
    calls = cast("list[Object]", updates)
    (call_id,) = [each["toolCallId"] for each in calls if each.get("kind") == kind]
    state: Object = {}
    for each in calls:
        if each.get("toolCallId") == call_id:
            state |= each
    return state["title"], state["status"], state["content"]
