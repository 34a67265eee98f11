"""Listing packages runs the workspace's interpreter: tried through the real process."""

from pathlib import Path

from tests.permissions.live_attempts import MODES, LiveAttempt, start_attempts

COMMANDS = ("uv pip list", "uv pip check", "uv pip freeze", ".venv/bin/python --version")


def test_no_interpreter_of_the_workspace_runs_unasked(tmp_path: Path) -> None:
    root = tmp_path / "work"
    program = root / ".venv/bin/python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran'\n")
    program.chmod(0o755)
    (root / ".venv/pyvenv.cfg").write_text("home = /usr/bin\n")
    attempts = [LiveAttempt(each, root, "terminal", {"command": each}) for each in COMMANDS]
    with start_attempts(tmp_path / "home", attempts, "off") as live:
        unheld = [
            (attempt.name, mode)
            for attempt in attempts
            for mode in MODES
            if not ((result := live.run(attempt, mode)).is_asked or result.has_failed)
        ]
    assert unheld == []
    assert not (tmp_path / "ran").exists()
