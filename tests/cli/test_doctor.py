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
    assert "  ✗ configuration  environment: default_mode: " in outcome.stdout
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


@pytest.mark.parametrize(
    ("name", "status"), [(None, "warning"), ("unheard-of", "warning"), ("scripted:demo", "ok")]
)
def test_a_model_that_cannot_be_asked_is_a_warning(
    name: str | None, status: Status, tmp_path: Path
) -> None:
    variables = {} if name is None else {"ACP_SERVER_MODEL": name}
    assert model(configured(tmp_path, **variables)).status == status


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
