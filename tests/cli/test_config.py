"""`acp-server config`."""

import json
import os
import pty
import stat
import sys
from pathlib import Path

import pytest
import yaml

from acp_server.config.template import config_template
from tests.cli.command_line import CliResult, run, start_on
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import DOES_NOT_EXIST

WELL = "No problems found.\n"


def configure(home: Path, text: str) -> Path:
    file = home / "acp" / "config.yaml"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    return file


def editor(folder: Path, *texts: str) -> str:
    """Return an editor that writes these texts, one each time, and notes that it was there."""
    program = folder / "editor.py"
    program.write_text(
        "import pathlib, sys\n"
        f"seen = pathlib.Path({str(folder / 'seen')!r})\n"
        "count = len(seen.read_text()) if seen.exists() else 0\n"
        "seen.write_text('x' * (count + 1))\n"
        f"texts = {texts!r}\n"
        "if texts: pathlib.Path(sys.argv[1]).write_text(texts[min(count, len(texts) - 1)])\n"
    )
    return f"{sys.executable} {program}"


def test_values_are_shown_with_their_origin(tmp_path: Path) -> None:
    file = configure(tmp_path, "default_mode: plan\nmcp_servers: {a: {command: x, env: {K: v1}}}\n")
    outcome = run(tmp_path, "config", "show", "--json", ANTHROPIC_API_KEY="v2")
    report = json.loads(outcome.stdout)
    rows = {row["name"]: row for row in report["settings"]}
    assert (outcome.exit_code, outcome.stderr, report["problems"]) == (0, "", [])
    assert rows["mode"] == {
        "name": "mode",
        "value": "plan",
        "origin": str(file),
        "option": "--mode",
        "variable": "ACP_SERVER_MODE",
        "key": "default_mode",
    }
    assert rows["mcp_servers"]["value"]["a"]["env"] == {"K": "(hidden)"}
    assert rows["api_key"]["value"] == "(hidden)"
    assert rows["max_retries"]["value"] == 5


def test_text_output_shows_keys_values_origins_and_ignored_values(tmp_path: Path) -> None:
    file = configure(tmp_path, "default_mode: plain\n")
    outcome = run(tmp_path, "config", "show", "--all", ACP_SERVER_MAX_RETRIES="7")
    lines = [line.split() for line in outcome.stdout.splitlines()]
    assert outcome.exit_code == 0
    assert ["default_mode", "ask", "default"] in lines
    assert ["endpoint.max_retries", "7", "environment", "ACP_SERVER_MAX_RETRIES"] in lines
    assert ["ANTHROPIC_API_KEY", "none", "default"] in lines
    assert outcome.stderr.startswith(f"note: {file}: default_mode: must be ")


def test_only_what_differs_from_the_defaults_is_shown(tmp_path: Path) -> None:
    unchanged = run(tmp_path, "config", "show")
    changed = run(tmp_path, "config", "show", ACP_SERVER_MAX_RETRIES="7")
    assert "All settings have their defaults" in unchanged.stdout
    assert [line.split() for line in changed.stdout.splitlines()] == [
        ["setting", "value", "from"],
        ["endpoint.max_retries", "7", "environment", "ACP_SERVER_MAX_RETRIES"],
    ]


def test_settings_are_not_truncated_in_a_pipe(tmp_path: Path) -> None:
    url = f"http://gateway.example/{'long/' * 60}"
    outcome = run(tmp_path, "config", "show", ANTHROPIC_BASE_URL=url)
    (line,) = (each for each in outcome.stdout.splitlines() if "anthropic.base_url" in each)
    assert line.split() == ["anthropic.base_url", url, "environment", "ANTHROPIC_BASE_URL"]


def test_valid_or_missing_files_pass_the_check(tmp_path: Path) -> None:
    assert run(tmp_path, "config", "check") == CliResult(0, WELL, "")


def test_all_mistakes_are_reported_with_file_and_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("display: 1\ndefault_mode: 1\n")
    (tmp_path / ".env").write_text("ACP_SERVER_MAX_RETRIES=many\n")
    file = configure(tmp_path, "log:\n  levle: info\n")
    outcome = run(tmp_path, "config", "check", ACP_SERVER_LOG_LEVEL="loud")
    assert (outcome.exit_code, outcome.stderr) == (1, "")
    assert [line.rpartition(": ")[0] for line in outcome.stdout.splitlines()] == [
        f"{tmp_path / 'config.yaml'}:2: default_mode",
        f"{file}:2: log.levle",
        f"{tmp_path / '.env'}:1: ACP_SERVER_MAX_RETRIES",
        "environment: ACP_SERVER_LOG_LEVEL",
    ]


def test_a_single_file_can_be_checked(tmp_path: Path) -> None:
    configure(tmp_path, "broken: [")
    draft = tmp_path / "draft.yaml"
    draft.write_text("\nmodle: x\n")
    outcome = run(tmp_path, "config", "check", str(draft), "--json")
    assert outcome.exit_code == 1
    assert json.loads(outcome.stdout) == [
        {
            "file": str(draft),
            "line": 2,
            "key": "modle",
            "reason": "is not known; did you mean model?",
        }
    ]


def test_a_missing_file_is_a_usage_error(tmp_path: Path) -> None:
    outcome = run(tmp_path, "config", "check", str(tmp_path / "absent"))
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert DOES_NOT_EXIST in outcome.stderr


def test_the_first_edit_creates_a_file_with_every_setting_commented_out(tmp_path: Path) -> None:
    outcome = run(tmp_path, "config", "edit", EDITOR=editor(tmp_path))
    file = tmp_path / "acp" / "config.yaml"
    assert outcome == CliResult(0, WELL, "")
    assert "\n# default_mode:" in f"\n{file.read_text()}"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    schema = json.loads((tmp_path / "acp" / "config.schema.json").read_text())
    assert "default_mode" in schema["properties"]


def test_a_key_is_set_in_its_place_and_comments_are_kept(tmp_path: Path) -> None:
    file = configure(tmp_path, "sandbox:\n  network: on  # mine\n  # more\n# end\n")
    outcome = run(tmp_path, "config", "set", "sandbox.network", "off")
    message = f"Set sandbox.network in {file}. New sessions use it.\n"
    assert outcome == CliResult(0, "", message)
    assert file.read_text() == "sandbox:\n  network: 'off'  # mine\n  # more\n# end\n"


def test_the_first_key_is_set_over_its_line_in_the_template(tmp_path: Path) -> None:
    run(tmp_path, "config", "set", "model.default", "5")
    file = tmp_path / "acp" / "config.yaml"
    others, _, section = file.read_text().partition("\nmodel:\n")
    assert "\n#   # The model to use\n  default: '5'\n" in section
    assert run(tmp_path, "config", "check") == CliResult(0, WELL, "")
    # What the template says to do with other lines is still right.
    section = section.replace('#   provider: ""', "  provider: openrouter", 1)
    assert yaml.safe_load(f"{others}\nmodel:\n{section}") == {
        "model": {"default": "5", "provider": "openrouter"}
    }
    removed = run(tmp_path, "config", "set", "model.default", "null")
    assert removed.stderr.startswith(f"Removed model.default from {file}.")
    assert file.read_text() == config_template()


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("sandbox.network", "none", "must be 'off', 'hosts' or 'on'"),
        ("sandbox.nettwork", "off", "is not known"),
        ("model.api_key", "sk-0815-4711", "run `acp-server setup` to store one"),
        ("mode.of", "[", "not YAML"),
        ("a..b", "1", "is not a key"),
    ],
    ids=["value", "key", "secret", "YAML", "dots"],
)
def test_a_wrong_key_or_value_changes_nothing(
    tmp_path: Path, key: str, value: str, problem: str
) -> None:
    file = configure(tmp_path, "# mine\n")
    outcome = run(tmp_path, "config", "set", key, value)
    assert outcome.exit_code in {1, 2}
    assert problem in outcome.stderr
    assert "sk-0815" not in outcome.stderr
    assert file.read_text() == "# mine\n"


def test_a_file_in_another_form_is_not_changed(tmp_path: Path) -> None:
    file = configure(tmp_path, "sandbox: {network: 'on'}\n")
    outcome = run(tmp_path, "config", "set", "sandbox.network", "off")
    assert outcome.exit_code == 1
    assert "run `acp-server config edit`" in outcome.stderr
    assert file.read_text() == "sandbox: {network: 'on'}\n"


def test_the_edited_file_is_saved_and_checked(tmp_path: Path) -> None:
    file = configure(tmp_path, "# mine\n")
    outcome = run(tmp_path, "config", "edit", EDITOR=editor(tmp_path, "modle: x\n"))
    problem = f"{file}:1: modle: is not known; did you mean model?\n"
    assert outcome == CliResult(1, problem, "")
    assert file.read_text() == "modle: x\n"


@pytest.mark.parametrize(("answer", "exit_code", "visits"), [("y", 0, 2), ("n", 1, 1)])
def test_on_a_terminal_it_can_be_edited_again(
    tmp_path: Path, answer: str, exit_code: int, visits: int
) -> None:
    program = editor(tmp_path, "modle: x\n", "model: x\n")
    ours, theirs = pty.openpty()
    try:
        os.write(ours, f"{answer}\n".encode())
        with start_on(theirs, tmp_path, "config", "edit", VISUAL=program) as (process, output):
            shown = output.read().decode()
            process.wait(HANG_TIMEOUT_SECONDS)
    finally:
        os.close(ours)
        os.close(theirs)
    assert "Edit again? [Y/n]" in shown
    assert (process.returncode, len((tmp_path / "seen").read_text())) == (exit_code, visits)


def test_a_missing_editor_is_reported(tmp_path: Path) -> None:
    outcome = run(tmp_path, "config", "edit", EDITOR="/nowhere/editor")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "cannot be edited" in outcome.stderr


@pytest.mark.parametrize("variables", [{}, {"EDITOR": "/usr/bin/vim -u NONE"}], ids=str)
def test_an_editor_that_needs_a_terminal_is_not_started_without_one(
    tmp_path: Path, variables: dict[str, str]
) -> None:
    outcome = run(tmp_path, "config", "edit", **variables)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.count("\n") == 1
    assert "config.yaml cannot be edited: vi" in outcome.stderr
    assert "needs a terminal" in outcome.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_home_is_reported(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    outcome = run(home, "config", "edit", EDITOR="true", TMPDIR=str(tmp_path))
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "cannot be edited: " in outcome.stderr


def test_the_printed_schema_equals_the_published_one(tmp_path: Path) -> None:
    published = Path(__file__).parents[2] / "editors" / "config.schema.json"
    assert run(tmp_path, "config", "schema").stdout == published.read_text()
