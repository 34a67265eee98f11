"""`acp-server setup --editor`: as a process where it matters, else in this one."""

import json
import os
import pty
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click import ClickException
from click.testing import CliRunner
from pydantic import JsonValue

from acp_server.cli.editor_detection import find_editors
from acp_server.cli.editor_settings import TITLES, FileEditor, Platform, settings_file
from acp_server.cli.main import group
from tests.cli.command_line import CliResult, environment, run
from tests.support.fork_server import CommandLine, get_fork_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

NOBODY_TO_ASK = "Nothing was written: stdin is not a terminal. Add --yes to write it.\n"
ZED_SETTINGS = """\
// my settings
{
  "theme": "One Dark", // dark
}
"""


def set_up(home: Path, *arguments: str) -> CliResult:
    """Run the command for Zed, in a home of its own."""
    return run_in_process(home, "--editor", "zed", *arguments)


def run_in_process(home: Path, *arguments: str) -> CliResult:
    """Run the command in this process, its input a pipe."""
    homes = {"HOME": str(home), "HERMES_HOME": str(home)}
    others = {"XDG_CONFIG_HOME": None, "FLATPAK_XDG_CONFIG_HOME": None}
    runner = CliRunner(env={**homes, **others})
    done = runner.invoke(group, ["setup", *arguments], standalone_mode=False)
    failed = done.exception
    exit_code = failed.exit_code if isinstance(failed, ClickException) else done.return_value
    return CliResult(exit_code, done.stdout, done.stderr)


def as_a_process(home: Path, *arguments: str) -> CliResult:
    """Run the command for Zed as a user does."""
    return run(home, "setup", "--editor", "zed", *arguments, HOME=str(home))


def settings(home: Path, text: str | None = ZED_SETTINGS) -> Path:
    """Return where Zed's settings are, having written some."""
    file = settings_file("zed", Platform(sys.platform, home, {}))
    if text is not None:
        file.parent.mkdir(parents=True)
        file.write_text(text, encoding="utf-8")
    return file


def entry(text: str) -> dict[str, JsonValue]:
    """Return what a text without comments says of this program."""
    return json.loads(text)["agent_servers"]["acp-server"]


def test_in_a_pipe_the_change_is_shown_and_not_written(tmp_path: Path) -> None:
    file = settings(tmp_path)
    outcome = as_a_process(tmp_path)
    lines = outcome.stdout.splitlines()
    assert lines[:5] == [
        "…",
        "  {",
        '    "theme": "One Dark", // dark',
        '+   "agent_servers": {',
        '+     "acp-server": {',
    ]
    assert lines[-1] == "  }"
    assert outcome.stderr == f"{file}:\n{NOBODY_TO_ASK}"
    assert outcome.exit_code == 1
    assert file.read_text(encoding="utf-8") == ZED_SETTINGS
    assert list(file.parent.iterdir()) == [file]


def test_settings_are_written_once_with_a_backup(tmp_path: Path) -> None:
    file = settings(tmp_path)
    file.chmod(0o600)
    outcome = as_a_process(tmp_path, "--yes")
    copy = file.with_name("settings.json.before-acp-server")
    assert outcome.stderr.splitlines()[1:] == [
        "Written; the old file is saved as settings.json.before-acp-server.",
        "In Zed, open the agent panel, press + and choose acp-server.",
    ]
    assert outcome.exit_code == 0
    assert copy.read_text(encoding="utf-8") == ZED_SETTINGS
    written = file.read_text(encoding="utf-8")
    assert written.startswith(ZED_SETTINGS.removesuffix("}\n"))
    assert [stat.S_IMODE(each.stat().st_mode) for each in (file, copy)] == [0o600, 0o600]
    again = as_a_process(tmp_path, "--yes")
    assert again == CliResult(0, "", f"Zed is already set up in {file}.\n")
    assert sorted(file.parent.iterdir()) == [file, copy]


def test_an_existing_backup_is_kept(tmp_path: Path) -> None:
    file = settings(tmp_path)
    older = file.with_name("settings.json.before-acp-server")
    older.write_text("older", encoding="utf-8")
    set_up(tmp_path, "--yes")
    assert older.read_text(encoding="utf-8") == "older"
    newer = file.with_name("settings.json.before-acp-server-2")
    assert newer.read_text(encoding="utf-8") == ZED_SETTINGS


def test_a_missing_file_is_created(tmp_path: Path) -> None:
    file = settings(tmp_path, text=None)
    assert set_up(tmp_path, "--yes").exit_code == 0
    assert entry(file.read_text(encoding="utf-8"))["type"] == "custom"
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("editor", ["zed", "vscode", "jetbrains"])
def test_an_already_configured_editor_is_detected(tmp_path: Path, editor: FileEditor) -> None:
    name = TITLES[editor]
    before = run_in_process(tmp_path, "--editor", editor, "--yes")
    assert before.stderr.startswith(f"{name} does not seem to be installed on this machine.\n")
    found = {each.name: each.names_us for each in find_editors(tmp_path, dict[str, str]().get)}
    assert found == {name: True}


def test_the_printed_output_contains_only_settings(tmp_path: Path) -> None:
    outcome = set_up(tmp_path, "--print")
    assert entry(outcome.stdout)["args"] == []
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert not settings(tmp_path, text=None).exists()


@pytest.mark.parametrize(
    ("editor", "first", "place"),
    [("neovim", "-- CodeCompanion", "init.lua"), ("emacs", ";; agent-shell", "init.el")],
)
def test_editors_configured_in_code_get_lines_to_paste(
    tmp_path: Path, editor: str, first: str, place: str
) -> None:
    outcome = run_in_process(tmp_path, "--editor", editor, "--yes")
    assert outcome.exit_code == 0
    assert place in outcome.stderr
    assert outcome.stdout.startswith(first)
    assert list(tmp_path.iterdir()) == []


def test_the_printed_command_starts_a_server(tmp_path: Path) -> None:
    found = entry(set_up(tmp_path, "--print").stdout)
    arguments = found["args"]
    assert isinstance(arguments, list)
    command = [str(found["command"]), *map(str, arguments), "--version"]
    result = subprocess.run(command, capture_output=True, check=True, encoding="utf-8")
    assert result.stdout.startswith("acp-server ")


def test_a_symlink_to_a_file_below_the_home_directory_is_followed(tmp_path: Path) -> None:
    file = settings(tmp_path, text=None)
    real = tmp_path / "dotfiles" / "zed.json"
    for folder in (file.parent, real.parent):
        folder.mkdir(parents=True)
    real.write_text(ZED_SETTINGS, encoding="utf-8")
    file.symlink_to(real)
    outcome = set_up(tmp_path, "--yes")
    assert outcome.stderr.splitlines()[0] == f"{real}:"
    assert file.readlink() == real
    assert "acp-server" in real.read_text(encoding="utf-8")
    assert (real.parent / "zed.json.before-acp-server").exists()


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("/etc/hostname", "is a symlink to /etc/hostname, outside your home directory"),
        ("nothing", "is a symlink to {folder}/nothing, which does not exist"),
    ],
)
def test_a_symlink_that_points_elsewhere_is_not_touched(
    tmp_path: Path, target: str, reason: str
) -> None:
    file = settings(tmp_path, text=None)
    file.parent.mkdir(parents=True)
    file.symlink_to(target)
    outcome = set_up(tmp_path, "--yes")
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines() == [
        f"acp-server setup: {file} {reason.format(folder=file.parent)}",
        "Nothing was changed. Run `acp-server setup --editor zed --print`",
        "to see the settings to add by hand.",
    ]
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": oops}', ": line 1: expected a value"),
        (b'{"agent_servers": []}', ": line 1: agent_servers is not an object"),
        (b'{"a": "\xff"}', " is not UTF-8"),
    ],
)
def test_unparsable_settings_are_not_touched(tmp_path: Path, content: bytes, reason: str) -> None:
    file = settings(tmp_path)
    file.write_bytes(content)
    outcome = set_up(tmp_path, "--yes")
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[0] == f"acp-server setup: {file}{reason}"
    assert file.read_bytes() == content


@pytest.mark.parametrize(("answer", "is_written"), [("", True), ("n", False)], ids=["enter", "no"])
def test_on_a_terminal_confirmation_is_required(
    tmp_path: Path, answer: str, *, is_written: bool
) -> None:
    file = settings(tmp_path)
    ours, its = pty.openpty()
    line = CommandLine(("setup", "--editor", "zed"), environment(tmp_path, HOME=str(tmp_path)))
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = get_fork_server().start(line, (its, output.fileno(), errors.fileno()))
        os.close(its)
        os.write(ours, f"{answer}\n".encode())
        assert process.wait(HANG_TIMEOUT_SECONDS) == 0
        os.close(ours)
        errors.seek(0)
        shown = errors.read().decode()
    assert f"Write this to {file}? [Y/n]: " in shown
    assert ("acp-server" in file.read_text(encoding="utf-8")) is is_written


@pytest.mark.parametrize(
    "arguments", [("--editor", "zed", "--forget"), ("--yes",), ("--editor", "ed")], ids=" ".join
)
def test_incompatible_options_are_refused(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert run_in_process(tmp_path, *arguments).exit_code == 2
