"""What an attempt leaves behind, or tells, through the real process: logs, exports, errors."""

import os
import stat
import sys
from pathlib import Path

import pytest

import acp_server
from tests.permissions.live_attempts import MODES, LiveAttempt, LiveAttempts, start_attempts
from tests.support.fork_server import CommandLine, get_fork_server
from tests.support.server_process import command_line, environment, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.confinement.sandbox_setup import needs_sandbox

INSTALLATION = Path(acp_server.__file__).parent
WITHOUT_OVERRIDE = (
    *("setpriv", "--inh-caps=-dac_override,-dac_read_search"),
    "--bounding-set=-dac_override,-dac_read_search",
)
"""Runs a program for which the modes of files count, also as root."""
linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="capabilities are those of Linux"
)


@needs_sandbox
def test_a_confined_command_does_not_change_the_installation_in_its_workspace(
    tmp_path: Path,
) -> None:
    lines = (
        f"echo x > {INSTALLATION}/made.py",
        f"python3 -c \"open('{INSTALLATION}/made.py', 'w')\"",
        f"touch {INSTALLATION.parent}/acp_server/made.py",
    )
    root = INSTALLATION.parent
    calls = [LiveAttempt(each, root, "terminal", {"command": each}) for each in lines]
    config = tmp_path / "home/acp/config.yaml"
    config.parent.mkdir(parents=True)
    config.write_text("checkpoints: {enabled: false}\n")  # of all this repository
    try:
        with start_attempts(tmp_path / "home", calls, "workspace") as live:
            for mode in MODES:
                # In plan mode nothing is asked, and nothing runs.
                live.answer = "allow_once"
                # What a command is confined to does not depend on the mode.
                made = calls if mode == "ask" else calls[:1]
                results = [live.run(each, mode) for each in made]
                assert [each.is_asked for each in results] == [mode != "plan"] * len(made)
        assert not (INSTALLATION / "made.py").exists()
    finally:
        (INSTALLATION / "made.py").unlink(missing_ok=True)


def test_a_new_log_file_of_the_server_is_private(tmp_path: Path) -> None:
    log = tmp_path / "logs/server.log"
    command = command_line(tmp_path, options=("--log-file", str(log), "--log-level", "debug"))
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        server.prompt(server.new_session(str(tmp_path)))
    assert log.stat().st_size > 0
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_an_exported_session_controls_no_terminal(tmp_path: Path) -> None:
    script = "prompt: *\nsay: red \x1b[31m \u009b2J \u202e end"
    with start_server(tmp_path, script) as server:
        server.initialize()
        session = server.new_session(str(tmp_path))
        server.prompt(session)
        server.close_stdin()
        server.wait()
    for form in ("jsonl", "md"):
        line = ("sessions", "export", session, "--format", form)
        done = get_fork_server().run(CommandLine(line, environment(tmp_path)), HANG_TIMEOUT_SECONDS)
        exported = done.stdout.decode()
        assert done.exit_code == 0
        assert "red" in exported
        assert not [each for each in exported if not each.isprintable() and each != "\n"]


@linux_only
def test_a_denied_path_is_reported_in_words(tmp_path: Path) -> None:
    root, home = tmp_path / "work", tmp_path / "home"
    (root / "locked").mkdir(parents=True)
    home.mkdir()
    (root / "locked/a.txt").write_text("x\n")
    (root / "locked").chmod(0)
    calls = [
        LiveAttempt("read", root, "read_file", {"path": "locked/a.txt"}),
        LiveAttempt("write", root, "write_file", {"path": "locked/b.txt", "content": "x\n"}),
        LiveAttempt("search", root, "search_files", {"pattern": "x", "path": "locked"}),
        LiveAttempt("run", root, "terminal", {"command": "ls", "workdir": "locked"}),
    ]
    prefix = WITHOUT_OVERRIDE if os.geteuid() == 0 else ()
    try:
        with start_attempts(home, calls, "off", prefix=prefix) as live:
            live.answer = "allow_once"
            _check_words(live, calls)
    finally:
        (root / "locked").chmod(stat.S_IRWXU)


def _check_words(live: LiveAttempts, calls: list[LiveAttempt]) -> None:
    for mode in MODES:
        for call in calls:
            result = live.run(call, mode)
            assert result.has_failed, (call.name, mode)
            assert not result.shows("PermissionError"), (call.name, mode)
            assert not result.shows("Errno"), (call.name, mode)
            is_refused = mode == "plan" and call.tool in {"write_file", "terminal"}
            said = any(map(result.shows, ("Permission denied", "no permission", "cannot be")))
            assert said or is_refused, (call.name, mode)
