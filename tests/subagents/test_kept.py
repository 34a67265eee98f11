"""What is kept of tasks by the real process: their calls, and what was said in them."""

from pathlib import Path

from pydantic import JsonValue

from tests.support.editor import Object, json_at
from tests.support.fork_server import CommandLine, get_fork_server
from tests.support.server_process import ServerProcess, environment, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.shell.command_session import running_commands

SCRIPT = """\
prompt: hand it on
call: delegate_task
  tasks:
    - goal: count the lines
      toolsets: [terminal]
    - goal: SECOND
step:
say: All is told.

prompt: count the lines
call: terminal
  command: echo counted
step:
say: There are seven.

prompt: leave something
call: terminal
  command: sleep 4711.25 & echo left
step:
say: Left.

prompt: linger
say: I linger.
call: terminal
  command: sleep 30
step:
say: I have lingered.

prompt: *
say: Still here.
"""


def _updates(server: ServerProcess) -> list[Object]:
    params = [each["params"] for each in server.messages if each.get("method") == "session/update"]
    return [update for each in params if isinstance(update := json_at(each, "update"), dict)]


def _calls(updates: list[Object]) -> dict[str, tuple[JsonValue, JsonValue]]:
    """Return each call's last status, and what it says of its parent."""
    found: dict[str, tuple[JsonValue, JsonValue]] = {}
    for each in updates:
        if "toolCallId" in each:
            status, parent = found.get(str(each["toolCallId"]), (None, None))
            meta = each.get("_meta")
            parent = json_at(meta, "parentToolUseId") if isinstance(meta, dict) else parent
            found[str(each["toolCallId"])] = (each.get("status") or status, parent)
    return found


def _open(server: ServerProcess, folder: Path) -> str:
    server.initialize()
    session_id = server.new_session(str(folder))
    server.call("session/set_mode", {"sessionId": session_id, "modeId": "bypass"})
    return session_id


def _load(server: ServerProcess, session_id: str, folder: Path) -> list[Object]:
    server.initialize()
    load: JsonValue = {"sessionId": session_id, "cwd": str(folder), "mcpServers": []}
    assert "result" in server.call("session/load", load)
    return _updates(server)


def _shown(home: Path, session_id: str, option: str = "--subagents") -> str:
    line = CommandLine(("sessions", "show", session_id, option), environment(home))
    completed = get_fork_server().run(line, HANG_TIMEOUT_SECONDS)
    assert completed.exit_code == 0, completed.stderr
    return completed.stdout.decode()


def test_a_loaded_session_shows_the_same_calls_and_parents(tmp_path: Path) -> None:
    script = SCRIPT.replace("SECOND", "leave something")
    with start_server(tmp_path, script) as server:
        session_id = _open(server, tmp_path)
        assert (
            json_at(server.prompt(session_id, "hand it on"), "result", "stopReason") == "end_turn"
        )
        live_calls = _calls(_updates(server))
        assert running_commands("sleep 4711.25") == [], "the commands of a task end with it"
        server.close_stdin()
        assert server.wait() == 0
    parent = next(call_id for call_id, (_, above) in live_calls.items() if above is None)
    assert live_calls.pop(parent) == ("completed", None)
    assert list(live_calls.values()) == [("completed", parent)] * 2
    with start_server(tmp_path, script) as server:
        assert _calls(_load(server, session_id, tmp_path)) == {
            parent: ("completed", None),
            **live_calls,
        }
    output = _shown(tmp_path, session_id)
    assert output == _shown(tmp_path, session_id, "--tasks"), "the old name of the option"
    assert f"task: {parent}, task 1, prompt: count the lines" in output
    assert f"task: {parent}, task 1, answer: There are seven." in output
    assert f"task: {parent}, task 2, answer: Left." in output


def test_a_session_continues_after_its_server_is_killed_during_a_task(
    tmp_path: Path,
) -> None:
    script = SCRIPT.replace("SECOND", "linger")
    with start_server(tmp_path, script) as server:
        session_id = _open(server, tmp_path)
        server.start_prompt(session_id, "hand it on")
        while not _is_lingering(_updates(server)):
            server.receive()
        server.process.kill()
        server.process.wait()
    with start_server(tmp_path, script) as server:
        calls = _calls(_load(server, session_id, tmp_path))
        (parent,) = (call_id for call_id, (_, above) in calls.items() if above is None)
        assert calls[parent] == ("failed", None)
        assert ("failed", parent) in calls.values(), "the one that lingered"
        answer = server.prompt(session_id, "and now?")
        assert json_at(answer, "result", "stopReason") == "end_turn"
    assert "linger" in _shown(tmp_path, session_id)


def _is_lingering(updates: list[Object]) -> bool:
    """Whether one task is done, and the other's command runs."""
    running = [each for each in updates if each.get("status") == "in_progress"]
    ended = [each for each in updates if each.get("status") == "completed"]
    return len(running) > len(ended) + 1 and bool(ended)
