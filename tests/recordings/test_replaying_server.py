"""Record and replay of the server on stdin and stdout, as an editor starts it."""

import sys
from pathlib import Path

from tests.support.messages_api import KEY, messages_api_in_thread
from tests.support.server_process import ServerProcess, start_server

SERVE = (sys.executable, "-m", "acp_server", "serve")


def ask(server: ServerProcess, workspace: Path, text: str) -> str:
    server.initialize()
    server.prompt(server.new_session(str(workspace)), text)
    server.close_stdin()
    assert server.wait() == 0
    return server.agent_text()


def test_a_recorded_session_is_answered_again_and_differences_are_reported(tmp_path: Path) -> None:
    tape, workspace = tmp_path / "tape", tmp_path / "workspace"
    for folder in (workspace, *(tmp_path / name for name in ("first", "second", "third"))):
        folder.mkdir()
    with messages_api_in_thread(["It is noon."]) as api:
        variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY}
        command = [*SERVE, "--model", "claude-opus-5-5", "--record", str(tape)]
        with start_server(tmp_path / "first", command=command, variables=variables) as server:
            assert ask(server, workspace, "What time is it?") == "It is noon."

    replay = [*SERVE, "--replay", str(tape)]
    with start_server(tmp_path / "second", command=replay) as server:
        assert ask(server, workspace, "What time is it?") == "It is noon."
        assert server.stderr() == ""
    with start_server(tmp_path / "third", command=replay) as server:
        assert ask(server, workspace, "What day is it?") == "It is noon."
        assert "replay: 0 exact, 1 by the nearest request" in server.stderr()
        assert "+text: What day is it?" in server.stderr()


def test_a_recording_that_is_not_there_ends_the_server_with_a_reason(tmp_path: Path) -> None:
    command = [*SERVE, "--replay", str(tmp_path / "none")]
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        server.start_request("session/list", {})  # the first that needs the settings
        assert server.wait() == 2
        assert "holds no recording" in server.stderr()
