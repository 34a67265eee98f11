import json
from pathlib import Path
from typing import cast

import pytest

from acp_server import settings
from acp_server.cli.checks import (
    HIDDEN,
    Finding,
    Status,
    configuration_problems,
    home_folder,
    model,
    setting_rows,
    without_secrets,
)
from acp_server.cli.doctor import worst
from acp_server.credentials import KeyStore
from tests.cli.command_line import run

Report = dict[str, list[dict[str, object]]]


def configured(home: Path, **variables: str) -> settings.Configuration:
    return settings.load({}, {"HERMES_HOME": str(home), **variables})


def test_as_json_it_says_what_was_found_and_measured(tmp_path: Path) -> None:
    outcome = run(tmp_path, "doctor", "--json", ACP_SERVER_MODEL="scripted:demo")
    report = cast("Report", json.loads(outcome.stdout))
    found = {str(finding["name"]): finding for finding in report["findings"]}
    assert (outcome.exit_code, outcome.stderr) == (0, "")
    assert list(found) == [
        "installation",
        "command",
        "home",
        "configuration",
        "model",
        "git",
        "round trip",
    ]
    assert found["model"]["fact"] == "scripted:demo (environment)"
    measured = cast("dict[str, int]", found["round trip"]["milliseconds"])
    assert list(measured) == ["start and initialize", "session/new", "exit"]
    assert all(number > 0 for number in measured.values())
    assert report["settings"][0] == {
        "name": "model",
        "value": "scripted:demo",
        "origin": "environment",
        "option": "--model",
        "variable": "ACP_SERVER_MODEL",
        "key": "model.default",
    }


def test_a_problem_is_shown_with_what_to_do_and_exits_with_1(tmp_path: Path) -> None:
    outcome = run(tmp_path, "doctor", ACP_SERVER_MODE="everything")
    assert (outcome.exit_code, outcome.stderr) == (1, "")
    assert "  ✗ configuration  environment: ACP_SERVER_MODE: " in outcome.stdout
    assert "                   → correct it, or take it out\n" in outcome.stdout
    assert "1 problem" in outcome.stdout
    assert "\x1b" not in outcome.stdout


def test_it_leaves_no_temporary_folder(tmp_path: Path) -> None:
    run(tmp_path, "doctor")
    assert list(tmp_path.iterdir()) == []


def test_a_secret_in_a_complaint_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("api_key: sk-verysecret : [")
    findings = list(configuration_problems(configured(tmp_path)))
    assert [finding.status for finding in findings] == ["problem"]
    assert "verysecret" not in findings[0].fact


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ANTHROPIC_API_KEY=abc rest", f"ANTHROPIC_API_KEY={HIDDEN} rest"),
        ('"auth_token": "abc"', f'"auth_token": {HIDDEN}'),
        ("it was sk-ant-1234567890", f"it was {HIDDEN}"),
        ("a monkey ate 3 tokens", "a monkey ate 3 tokens"),
    ],
)
def test_what_looks_like_a_secret_is_taken_out(text: str, expected: str) -> None:
    assert without_secrets(text) == expected


def test_the_rows_tell_where_a_value_came_from(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("default_mode: plan\n")
    rows = {row.name: row for row in setting_rows(configured(tmp_path, ACP_SERVER_LOG_FILE="/x"))}
    assert (rows["mode"].value, rows["mode"].origin) == ("plan", str(tmp_path / "config.yaml"))
    assert (rows["log_file"].value, rows["log_file"].origin) == ("/x", "environment")
    assert (rows["model"].value, rows["model"].origin) == ("none", "default")


WITHOUT_KEY = Finding(
    "model",
    "warning",
    "no key: prompts will be refused",
    "run `acp-server setup`, or set ANTHROPIC_API_KEY; scripted:demo needs no account",
)


@pytest.mark.parametrize(
    ("variables", "finding"),
    [
        ({}, WITHOUT_KEY),
        ({"ACP_SERVER_MODEL": "unheard-of"}, WITHOUT_KEY),
        (
            {"ACP_SERVER_MODEL": "scripted:demo"},
            Finding("model", "ok", "scripted:demo (environment)"),
        ),
        (
            {"ANTHROPIC_API_KEY": "secret"},
            Finding(
                "model", "ok", "the endpoint's first that is known, with the key of environment"
            ),
        ),
        (
            {"ACP_SERVER_MODEL": "claude-x", "ANTHROPIC_AUTH_TOKEN": "secret"},
            Finding("model", "ok", "claude-x, with the key of environment"),
        ),
        (
            {"ACP_SERVER_PROVIDER": "openrouter", "ANTHROPIC_API_KEY": "secret"},
            Finding(
                "model",
                "warning",
                "the provider 'openrouter' (environment) is not spoken here",
                "set `model.provider: anthropic` in HERMES_HOME/acp/config.yaml",
            ),
        ),
    ],
    ids=["no key", "unheard-of", "scripted", "key", "token", "foreign"],
)
async def test_a_model_that_cannot_be_asked_is_a_warning(
    variables: dict[str, str], finding: Finding, tmp_path: Path
) -> None:
    assert await model(configured(tmp_path, **variables)) == finding


async def test_a_stored_key_is_found_and_said_to_be_where_it_is(tmp_path: Path) -> None:
    place = KeyStore(tmp_path, use_keyring=False).save("secret")
    assert await model(configured(tmp_path)) == Finding(
        "model", "ok", f"the endpoint's first that is known, with the key of {place}"
    )


def test_a_key_is_hidden_among_the_settings(tmp_path: Path) -> None:
    rows = {row.name: row for row in setting_rows(configured(tmp_path, ANTHROPIC_API_KEY="secret"))}
    assert (rows["api_key"].value, rows["api_key"].origin) == (HIDDEN, "environment")
    assert (rows["auth_token"].value, rows["auth_token"].origin) == ("none", "default")


def test_a_home_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.write_text("")
    assert home_folder(file) == Finding(
        "home",
        "problem",
        f"{file} is not a folder",
        "set HERMES_HOME to a folder that you can write to",
    )


def test_a_home_that_is_not_there_yet_is_fine(tmp_path: Path) -> None:
    finding = home_folder(tmp_path / "a" / "b")
    assert finding.status == "ok"
    assert "will be made" in finding.fact


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [([], "ok"), (["ok", "warning"], "warning"), (["warning", "problem", "ok"], "problem")],
)
def test_the_worst_finding_decides(statuses: list[Status], expected: Status) -> None:
    assert worst([Finding("x", status, "") for status in statuses]) == expected
