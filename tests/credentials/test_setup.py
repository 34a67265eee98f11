"""`acp-server setup`, as a user runs it."""

import json
from pathlib import Path

import pytest

from acp_server.config.credentials import DEFAULT_ACCOUNT
from tests.cli.command_line import CliResult, run


def file_of(home: Path) -> Path:
    return home / "acp" / "credentials.json"


def stored(home: Path) -> object:
    return json.loads(file_of(home).read_text())


def stored_in(home: Path) -> CliResult:
    return CliResult(0, "", f"Stored the key in {file_of(home)}. New prompts use it at once.\n")


@pytest.mark.parametrize("given", ["sk-1\n", "sk-1", "  sk-1 \r\nmore\n"])
@pytest.mark.parametrize("options", [[], ["--no-keyring"], ["--file"]])
def test_a_key_from_stdin_is_stored_and_not_echoed(
    tmp_path: Path, given: str, options: list[str]
) -> None:
    assert run(tmp_path, "setup", *options, stdin=given) == stored_in(tmp_path)
    assert stored(tmp_path) == {DEFAULT_ACCOUNT: "sk-1"}
    assert file_of(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("given", ["", "\n", "  \n"])
def test_empty_stdin_stores_nothing_and_exits_with_1(tmp_path: Path, given: str) -> None:
    assert run(tmp_path, "setup", stdin=given) == CliResult(
        1, "", "No key entered; nothing was stored.\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [["--forget"], ["--forget", "--no-keyring"]])
def test_a_stored_key_can_be_deleted(tmp_path: Path, options: list[str]) -> None:
    run(tmp_path, "setup", stdin="sk-1")
    for _ in range(2):
        assert run(tmp_path, "setup", *options) == CliResult(0, "", "Removed the stored key.\n")
        assert not file_of(tmp_path).exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--local", "--use"], "--local cannot be used with other options"),
        (["--local", "--provider", "openrouter"], "--local cannot be used with other options"),
        (["--local", "--forget"], "--local cannot be used with other options"),
        (["--forget", "--use"], "--use cannot be used with --forget"),
    ],
)
def test_options_that_cannot_be_combined_are_refused(
    tmp_path: Path, options: list[str], message: str
) -> None:
    run(tmp_path, "setup", stdin="sk-1")
    outcome = run(tmp_path, "setup", *options, stdin="sk-2")
    assert outcome.exit_code == 2
    assert message in outcome.stderr
    assert stored(tmp_path) == {DEFAULT_ACCOUNT: "sk-1"}


def test_an_unwritable_home_is_named_and_exits_with_1(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.touch()
    outcome = run(tmp_path, "setup", stdin="sk-secret\n", HERMES_HOME=str(home))
    problem = f"[Errno 20] Not a directory: {str(home / 'acp')!r}"
    assert outcome == CliResult(1, "", f"The key cannot be stored: {problem}\n")
    outcome = run(tmp_path, "setup", "--forget", HERMES_HOME=str(home))
    assert outcome == CliResult(0, "", "Removed the stored key.\n")


def test_a_key_that_cannot_be_removed_is_named_and_exits_with_1(tmp_path: Path) -> None:
    file_of(tmp_path).mkdir(parents=True)
    outcome = run(tmp_path, "setup", "--forget")
    problem = f"[Errno 21] Is a directory: {str(file_of(tmp_path))!r}"
    assert outcome == CliResult(1, "", f"The key cannot be removed: {problem}\n")


def test_the_report_does_not_contain_the_key(tmp_path: Path) -> None:
    run(tmp_path, "setup", stdin="sk-verysecret\n")
    outcome = run(tmp_path, "doctor", "--json", ANTHROPIC_BASE_URL="http://127.0.0.1:9")
    assert "verysecret" not in outcome.stdout + outcome.stderr
    assert f"with the key from {file_of(tmp_path)}" in outcome.stdout
