import json
from pathlib import Path
from typing import cast

import anyio
import anyio.abc
import pytest

from acp_server.cli.doctor_checks import (
    CheckResult,
    CheckStatus,
    check_configuration,
    check_endpoint,
    check_home,
    check_model,
    worst_status,
)
from acp_server.cli.setting_rows import displayable, setting_rows
from acp_server.config import settings
from acp_server.config.credentials import KeyStore, account_name
from acp_server.config.values import HttpServer, StdioServer
from acp_server.text.redaction import REDACTED
from tests.cli.command_line import run
from tests.support.messages_api import KEY, messages_api

QUIET = {"ACP_SERVER_MODEL": "scripted:demo"}
"""What keeps the checks from asking an endpoint."""
Report = dict[str, list[dict[str, object]]]


def configured(home: Path, **variables: str) -> settings.Configuration:
    return settings.load({}, {"HERMES_HOME": str(home), **variables})


def test_json_output_contains_findings_and_measurements(tmp_path: Path) -> None:
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
        "endpoint",
        "database",
        "skills",
        "editors",
        "git",
        "sandbox",
        "round trip",
    ]
    assert found["model"]["fact"] == "scripted:demo (environment)"
    measured = cast("dict[str, int]", found["round trip"]["milliseconds"])
    assert list(measured) == ["start and initialize", "session/new", "exit"]
    assert all(number > 0 for number in measured.values())
    assert next(each for each in report["settings"] if each["name"] == "model") == {
        "name": "model",
        "value": "scripted:demo",
        "origin": "environment",
        "option": "--model",
        "variable": "ACP_SERVER_MODEL",
        "key": "model.default",
    }


def test_a_problem_is_shown_with_its_remedy_and_exits_with_1(tmp_path: Path) -> None:
    outcome = run(tmp_path, "doctor", ACP_SERVER_MODE="everything", **QUIET)
    assert (outcome.exit_code, outcome.stderr) == (1, "")
    assert "  ✗ configuration  environment: ACP_SERVER_MODE: " in outcome.stdout
    assert "                   → correct or remove it\n" in outcome.stdout
    assert "1 problem" in outcome.stdout
    assert "\x1b" not in outcome.stdout


def test_the_doctor_leaves_no_temporary_directory(tmp_path: Path) -> None:
    run(tmp_path, "doctor", **QUIET)
    assert [path.name for path in tmp_path.iterdir()] == ["acp"]  # the server's own, and kept


def test_a_secret_in_a_parse_error_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("api_key: sk-verysecret : [")
    findings = list(check_configuration(configured(tmp_path)))
    assert [finding.status for finding in findings] == ["problem"]
    assert "verysecret" not in findings[0].fact


def test_the_rows_show_the_origin_of_each_value(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("default_mode: plan\n")
    rows = {row.name: row for row in setting_rows(configured(tmp_path, ACP_SERVER_LOG_FILE="/x"))}
    assert (rows["mode"].value, rows["mode"].origin) == ("plan", str(tmp_path / "config.yaml"))
    assert (rows["log_file"].value, rows["log_file"].origin) == ("/x", "environment")
    assert (rows["model"].value, rows["model"].origin) == (None, "default")


WITHOUT_KEY = CheckResult(
    "model",
    "warning",
    "no API key: prompts will fail",
    "run `acp-server setup`, or set ANTHROPIC_API_KEY; scripted:demo needs no account",
)


@pytest.mark.parametrize(
    ("variables", "finding"),
    [
        ({}, WITHOUT_KEY),
        ({"ACP_SERVER_MODEL": "unheard-of"}, WITHOUT_KEY),
        (
            {"ACP_SERVER_MODEL": "scripted:demo"},
            CheckResult("model", "ok", "scripted:demo (environment)"),
        ),
        (
            {"ANTHROPIC_API_KEY": "secret"},
            CheckResult(
                "model", "ok", "the endpoint's first known model, with the key from environment"
            ),
        ),
        (
            {"ACP_SERVER_MODEL": "claude-x", "ANTHROPIC_AUTH_TOKEN": "secret"},
            CheckResult("model", "ok", "claude-x, with the key from environment"),
        ),
        (
            {"ACP_SERVER_PROVIDER": "nouse", "ANTHROPIC_API_KEY": "secret"},
            CheckResult(
                "model",
                "warning",
                "unknown provider 'nouse' (environment)",
                "set `model.base_url` to its address in HERMES_HOME/acp/config.yaml",
            ),
        ),
        (
            {"ACP_SERVER_PROVIDER": "custom"},
            CheckResult(
                "model",
                "warning",
                "the provider 'custom' (environment) has no address",
                "run `acp-server setup --provider custom --use`, or set `model.base_url`",
            ),
        ),
        (
            {"ACP_SERVER_PROVIDER": "openrouter", "ANTHROPIC_API_KEY": "secret"},
            CheckResult(
                "model",
                "warning",
                "no API key: prompts will fail",
                "run `acp-server setup`, or set OPENROUTER_API_KEY; scripted:demo needs no account",
            ),
        ),
        (
            {"ACP_SERVER_PROVIDER": "ollama", "ACP_SERVER_MODEL": "qwen3"},
            CheckResult("model", "ok", "qwen3, at http://127.0.0.1:11434/v1 without a key"),
        ),
    ],
    ids=[
        "no key",
        "unheard-of",
        "scripted",
        "key",
        "token",
        "foreign",
        "custom",
        "other key",
        "local",
    ],
)
async def test_an_unusable_model_is_a_warning(
    variables: dict[str, str], finding: CheckResult, tmp_path: Path
) -> None:
    assert await check_model(configured(tmp_path, **variables)) == finding


async def test_a_stored_key_is_found_and_its_location_is_shown(tmp_path: Path) -> None:
    location = KeyStore(tmp_path, use_keyring=False).save("secret")
    assert await check_model(configured(tmp_path)) == CheckResult(
        "model", "ok", f"the endpoint's first known model, with the key from {location}"
    )


def test_a_key_is_redacted_in_the_settings(tmp_path: Path) -> None:
    rows = {row.name: row for row in setting_rows(configured(tmp_path, ANTHROPIC_API_KEY="secret"))}
    assert (rows["api_key"].value, rows["api_key"].origin) == (REDACTED, "environment")
    assert (rows["auth_token"].value, rows["auth_token"].origin) == (None, "default")


def test_server_secrets_are_redacted_but_variable_names_are_shown() -> None:
    servers = {
        "a": StdioServer.model_validate(
            {"command": "a", "args": ["--token", "abc", "x"], "env": {"TOKEN": "abc", "PORT": 1}}
        ),
        "b": HttpServer.model_validate(
            {
                "url": "https://u:abc@h/",
                "headers": {"X": "abc"},
                "oauth": {"client_id": "me", "client_secret": "abc"},
            }
        ),
    }
    times = {
        "enabled": True,
        "timeout": 120.0,
        "connect_timeout": 60.0,
        "sampling": None,
        "tools": None,
    }
    assert displayable(servers) == {
        "a": {
            **times,
            "type": "stdio",
            "command": "a",
            "args": ["--token", REDACTED, "x"],
            "env": {"TOKEN": REDACTED, "PORT": REDACTED},
            "cwd": None,
        },
        "b": {
            **times,
            "type": "http",
            "url": f"https://{REDACTED}@h/",
            "headers": {"X": REDACTED},
            "auth": "",
            "oauth": {
                "client_id": "me",
                "client_secret": REDACTED,
                "client_name": "",
                "scope": "",
                "redirect_host": "127.0.0.1",
                "redirect_port": 0,
                "issuer": "",
                "timeout": 300.0,
            },
        },
    }


def test_an_unknown_name_is_a_warning(tmp_path: Path) -> None:
    (tmp_path / "acp").mkdir()
    file = tmp_path / "acp" / "config.yaml"
    file.write_text("log:\n  levle: info\n")
    assert list(check_configuration(configured(tmp_path))) == [
        CheckResult(
            "configuration",
            "warning",
            f"{file}:2: log.levle: is not known; did you mean log.level?",
            "run `acp-server config edit`",
        )
    ]


async def test_an_endpoint_that_answers_anything_counts_as_reachable(
    free_tcp_port: int, tmp_path: Path
) -> None:
    async def refuse(stream: anyio.abc.SocketStream) -> None:
        async with stream:
            await stream.receive()
            await stream.send(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n")

    address = f"http://127.0.0.1:{free_tcp_port}"
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=free_tcp_port) as door,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(door.serve, refuse)
        finding = await check_endpoint(configured(tmp_path, ANTHROPIC_BASE_URL=address))
        assert (finding.status, list(finding.milliseconds)) == ("ok", ["answer"])
        assert finding.fact.startswith(f"{address} answers in ")
        tasks.cancel_scope.cancel()


async def test_a_key_that_the_endpoint_refuses_is_a_problem(tmp_path: Path) -> None:
    async with messages_api([]) as api:
        account = account_name("anthropic", api.url.removeprefix("http://"))
        KeyStore(tmp_path, account=account, use_keyring=False).save("sk-wrong-0815")
        address = {"ANTHROPIC_BASE_URL": api.url}
        stored = await check_endpoint(configured(tmp_path, **address))
        other = await check_endpoint(configured(tmp_path, ANTHROPIC_API_KEY="sk-bad", **address))
        right = await check_endpoint(configured(tmp_path, ANTHROPIC_API_KEY=KEY, **address))
    file = tmp_path / "acp" / "credentials.json"
    assert (stored.status, stored.advice) == (
        "problem",
        "store another key with `acp-server setup`",
    )
    assert f"refuses the key from {file} (401)" in stored.fact
    assert (other.status, right.status) == ("problem", "ok")
    assert other.advice.startswith("correct it there")


async def test_an_unreachable_endpoint_is_a_warning(free_tcp_port: int, tmp_path: Path) -> None:
    address = f"http://me:secret@127.0.0.1:{free_tcp_port}"
    found = await check_endpoint(configured(tmp_path, ANTHROPIC_BASE_URL=address))
    assert found.status == "warning"
    assert found.fact.startswith(f"http://{REDACTED}@127.0.0.1:{free_tcp_port} does not answer: ")


@pytest.mark.parametrize(
    "variables", [{"ACP_SERVER_MODEL": "scripted:demo"}, {"ACP_SERVER_PROVIDER": "nouse"}]
)
async def test_only_endpoints_in_use_are_contacted(
    variables: dict[str, str], tmp_path: Path
) -> None:
    assert (await check_endpoint(configured(tmp_path, **variables))).milliseconds == {}


def test_a_home_that_is_a_file_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "home"
    file.write_text("")
    assert check_home(file) == CheckResult(
        "home",
        "problem",
        f"{file} is not a directory",
        "set HERMES_HOME to a directory that you can write to",
    )


def test_a_missing_home_is_fine(tmp_path: Path) -> None:
    finding = check_home(tmp_path / "a" / "b")
    assert finding.status == "ok"
    assert "will be created" in finding.fact


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [([], "ok"), (["ok", "warning"], "warning"), (["warning", "problem", "ok"], "problem")],
)
def test_the_worst_finding_determines_the_status(
    statuses: list[CheckStatus], expected: CheckStatus
) -> None:
    assert worst_status([CheckResult("x", status, "") for status in statuses]) == expected
