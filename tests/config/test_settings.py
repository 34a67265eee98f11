"""Settings: six layers, which of them wins, and what is said of values that do not fit."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr

from acp_server.config import settings
from acp_server.config.settings import Configuration, Settings
from acp_server.config.table import build_settings, setting_sources
from acp_server.config.values import PlatformHint
from tests.support.user_texts import NOT_A_MAPPING

DEFAULTS = Settings()


def write(home: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = home / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def load(home: Path, options: Mapping[str, str] | None = None, **variables: str) -> Configuration:
    return settings.load(options or {}, {"HERMES_HOME": str(home), **variables})


def origins(**changed: str) -> dict[str, str]:
    return {name: changed.get(name, "default") for name in setting_sources()}


def test_without_any_source_the_defaults_apply(tmp_path: Path) -> None:
    assert load(tmp_path) == Configuration(DEFAULTS, tmp_path, origins(), ())


def test_each_layer_overrides_those_before_it(tmp_path: Path) -> None:
    """All six layers, from the last to the first: each is taken away in turn."""
    hermes, ours = tmp_path / "config.yaml", tmp_path / "acp" / "config.yaml"
    dotenv = tmp_path / ".env"
    write(
        tmp_path,
        {
            "config.yaml": "model: hermes",
            "acp/config.yaml": "model: ours",
            ".env": "ACP_SERVER_MODEL=dotenv",
        },
    )
    found: list[tuple[str | None, str]] = []

    def look(options: Mapping[str, str], **variables: str) -> None:
        loaded = load(tmp_path, options, **variables)
        found.append((loaded.settings.model, loaded.origins["model"]))

    look({"--model": "option"}, ACP_SERVER_MODEL="variable")
    look({}, ACP_SERVER_MODEL="variable")
    look({})
    dotenv.unlink()
    look({})
    ours.unlink()
    look({})
    hermes.unlink()
    look({})
    assert found == [
        ("option", "option"),
        ("variable", "environment"),
        ("dotenv", str(dotenv)),
        ("ours", str(ours)),
        ("hermes", str(hermes)),
        (None, "default"),
    ]


def test_each_setting_is_resolved_through_the_layers_independently(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "config.yaml": "model:\n  default: hermes\nlog:\n  level: debug\ndefault_mode: plan",
            "acp/config.yaml": "log:\n  level: info\n  file: /var/log/acp.log",
        },
    )
    assert load(tmp_path, {"--mode": "bypass"}) == Configuration(
        Settings(
            model="hermes", mode="bypass", log_level="info", log_file=Path("/var/log/acp.log")
        ),
        tmp_path,
        origins(
            model=str(tmp_path / "config.yaml"),
            mode="option",
            log_level=str(tmp_path / "acp" / "config.yaml"),
            log_file=str(tmp_path / "acp" / "config.yaml"),
        ),
        (),
    )


def test_an_invalid_value_is_reported_and_the_next_lower_source_is_used(
    tmp_path: Path,
) -> None:
    hermes, ours = str(tmp_path / "config.yaml"), str(tmp_path / "acp" / "config.yaml")
    write(
        tmp_path,
        {
            "config.yaml": "default_mode: plan",
            "acp/config.yaml": "default_mode: [plan]",
            ".env": "ACP_SERVER_MODE=planning",
        },
    )
    loaded = load(tmp_path, {"--mode": ""}, ACP_SERVER_MODE="PLAN")
    reason = "must be 'ask', 'accept_edits', 'plan' or 'bypass'; ignored"
    assert loaded == Configuration(
        Settings(mode="plan"),
        tmp_path,
        origins(mode=hermes),
        (
            f"option: --mode: {reason}",
            f"environment: ACP_SERVER_MODE: {reason}",
            f"{tmp_path / '.env'}: ACP_SERVER_MODE: {reason}",
            f"{ours}: default_mode: {reason}",
        ),
    )


A_LEVEL = "must be 'debug', 'info', 'warning' or 'error'"
A_TEXT = "must be a text"
A_TAG = "tag:yaml.org,2002:python/object:os.system"
NO_TEXT = "cannot be read: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("model: 5", f"model.default: {A_TEXT}"),
        ("model: [a]", f"model.default: {A_TEXT}"),
        ("model: true", f"model.default: {A_TEXT}"),
        ("model:\n  default: 5", f"model.default: {A_TEXT}"),
        ("model:\n  default: {a: b}", f"model.default: {A_TEXT}"),
        ("log:\n  level: loud", f"log.level: {A_LEVEL}"),
        ("log:\n  level: 10", f"log.level: {A_LEVEL}"),
        ("log:\n  file: 5", "log.file: must be a path"),
        (
            "endpoint:\n  read_timeout_seconds: 0",
            "endpoint.read_timeout_seconds: must be greater than 0",
        ),
        (
            "endpoint:\n  max_retries: -1",
            "endpoint.max_retries: must be greater than or equal to 0",
        ),
        ("max_turn_requests: 0", "max_turn_requests: must be greater than 0"),
        (
            "default_mode: on",
            "default_mode: must be 'ask', 'accept_edits', 'plan' or 'bypass'",
        ),
    ],
)
def test_an_invalid_value_in_a_file_is_reported_and_ignored(
    tmp_path: Path, document: str, problem: str
) -> None:
    write(tmp_path, {"config.yaml": document})
    problems = (f"{tmp_path / 'config.yaml'}: {problem}; ignored",)
    assert load(tmp_path) == Configuration(DEFAULTS, tmp_path, origins(), problems)


@pytest.mark.parametrize(
    "document",
    [
        "",
        "# only a comment",
        "model:",
        "model:\n  default:",
        "model: null\nlog: null",
        "somebody:\n  elses: [1, 2, 3]",
        "model.default: dotted keys are no keys",
    ],
)
def test_a_file_without_a_setting_leaves_it_unchanged(tmp_path: Path, document: str) -> None:
    write(tmp_path, {"config.yaml": document})
    assert load(tmp_path) == Configuration(DEFAULTS, tmp_path, origins(), ())


@pytest.mark.parametrize(
    "document",
    [
        "model: short",
        "model:\n  default: short",
        "\ufeffmodel: short",
        "model: short\r\n",
        "a: &name short\nmodel: *name",
    ],
)
def test_the_model_can_be_given_in_short_or_long_form(tmp_path: Path, document: str) -> None:
    write(tmp_path, {"config.yaml": document})
    loaded = load(tmp_path)
    assert (loaded.settings.model, loaded.problems) == ("short", ())


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ("a: [", "not YAML at line 1: expected the node content, but found '<stream end>'"),
        ("a: b\nc: d: e", "not YAML at line 2: mapping values are not allowed here"),
        ("a: *nobody", "not YAML at line 1: found undefined alias 'nobody'"),
        ("? [a]\n: b", "not YAML at line 1: found unhashable key"),
        (
            "a: !!python/object:os.system x",
            f"not YAML at line 1: could not determine a constructor for the tag {A_TAG!r}",
        ),
        ("date: 2001-99-99", "not YAML"),
        ("a: !!int secret", "not YAML"),
        ("a: !!bool secret", "not YAML"),
        ("a: !!timestamp secret", "not YAML"),
        ("[" * 2_000, "not YAML"),
        ("a: \x00", "not YAML"),
        ("- a\n- b", NOT_A_MAPPING),
        ("just text", NOT_A_MAPPING),
        (b"\xff\xfe", NO_TEXT),
    ],
    ids=range(14),
)
def test_a_malformed_file_is_ignored_and_reported_without_its_content(
    tmp_path: Path, document: str | bytes, problem: str
) -> None:
    write(tmp_path, {"config.yaml": document, "acp/config.yaml": "model: ours"})
    loaded = load(tmp_path)
    assert loaded.problems == (f"{tmp_path / 'config.yaml'}: {problem}; ignored",)
    assert loaded.settings.model == "ours"


def test_a_directory_in_place_of_a_file_is_reported(tmp_path: Path) -> None:
    paths = (tmp_path / "config.yaml", tmp_path / "acp" / "config.yaml", tmp_path / ".env")
    for path in paths:
        path.mkdir(parents=True)
    assert load(tmp_path).problems == tuple(
        f"{path}: is not a regular file of at most 1 MB; ignored" for path in paths
    )


@pytest.mark.parametrize("name", ["config.yaml", ".env"])
def test_a_pipe_or_a_huge_file_does_not_block(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    assert load(tmp_path).problems == (
        f"{tmp_path / name}: is not a regular file of at most 1 MB; ignored",
    )
    (tmp_path / name).unlink()
    with (tmp_path / name).open("wb") as huge:
        huge.truncate(50_000_000)
    assert load(tmp_path).problems == (
        f"{tmp_path / name}: is not a regular file of at most 1 MB; ignored",
    )


@pytest.mark.parametrize(
    ("written", "model"),
    [
        ("ACP_SERVER_MODEL=a", "a"),
        ("export ACP_SERVER_MODEL=a", "a"),
        ("ACP_SERVER_MODEL='a b' # why", "a b"),
        ('ACP_SERVER_MODEL="a#b"', "a#b"),
        ("ACP_SERVER_MODEL=${HOME}", "${HOME}"),
        ("\ufeffACP_SERVER_MODEL=a", "a"),
        ("OTHER=1\r\nACP_SERVER_MODEL=a\r\n", "a"),
        ("this is no assignment\nACP_SERVER_MODEL=a", "a"),
        ("ACP_SERVER_MODEL", None),
        ("ACP_SERVER_MODEL=", None),
        ("# ACP_SERVER_MODEL=a", None),
    ],
)
def test_a_dotenv_file_is_parsed_by_dotenv_rules(
    tmp_path: Path, written: str, model: str | None
) -> None:
    write(tmp_path, {".env": written})
    loaded = load(tmp_path)
    assert (loaded.settings.model, loaded.problems) == (model, ())


def test_a_dotenv_file_that_is_not_text_is_reported(tmp_path: Path) -> None:
    write(tmp_path, {".env": b"\xff"})
    assert load(tmp_path).problems == (f"{tmp_path / '.env'}: {NO_TEXT}; ignored",)


def test_an_empty_variable_counts_as_unset(tmp_path: Path) -> None:
    write(tmp_path, {"config.yaml": "model: hermes"})
    assert load(tmp_path, ACP_SERVER_MODEL="").settings.model == "hermes"


@pytest.mark.parametrize("source", ["config.yaml", ".env", "environment", "option"])
def test_a_log_file_path_may_start_with_the_home_directory(tmp_path: Path, source: str) -> None:
    written = {"config.yaml": "log:\n  file: ~/acp.log", ".env": "ACP_SERVER_LOG_FILE=~/acp.log"}
    write(tmp_path, {name: text for name, text in written.items() if name == source})
    variables = {"ACP_SERVER_LOG_FILE": "~/acp.log"} if source == "environment" else {}
    loaded = load(tmp_path, {"--log-file": "~/acp.log"} if source == "option" else {}, **variables)
    assert loaded.settings.log_file == Path.home() / "acp.log"


@pytest.mark.parametrize(
    ("variables", "home"),
    [
        ({}, Path.home() / ".hermes"),
        ({"HERMES_HOME": ""}, Path.home() / ".hermes"),
        ({"HERMES_HOME": "~/elsewhere"}, Path.home() / "elsewhere"),
        ({"HERMES_HOME": "/srv/hermes home"}, Path("/srv/hermes home")),
        ({"HERMES_HOME": "~nobody-has-this-name/x"}, Path("~nobody-has-this-name/x")),
    ],
)
def test_hermes_home_sets_the_location_of_the_files(
    variables: Mapping[str, str], home: Path
) -> None:
    assert settings.hermes_home(variables) == home


def test_a_key_is_read_from_the_environment_or_dotenv_and_is_not_shown(tmp_path: Path) -> None:
    write(tmp_path, {".env": "ANTHROPIC_AUTH_TOKEN=a-secret-token"})
    loaded = load(tmp_path, ANTHROPIC_API_KEY="a-secret-key", ANTHROPIC_BASE_URL="http://gate")
    assert loaded == Configuration(
        Settings(
            api_key=SecretStr("a-secret-key"),
            auth_token=SecretStr("a-secret-token"),
            base_url="http://gate",
        ),
        tmp_path,
        origins(api_key="environment", auth_token=str(tmp_path / ".env"), base_url="environment"),
        (),
    )
    assert "secret-" not in repr(loaded)


def test_a_key_in_a_configuration_file_is_ignored(tmp_path: Path) -> None:
    write(tmp_path, {"config.yaml": "api_key: x\nanthropic:\n  api_key: x"})
    assert load(tmp_path) == Configuration(DEFAULTS, tmp_path, origins(), ())


def test_hermes_home_in_the_dotenv_file_has_no_effect(tmp_path: Path) -> None:
    write(tmp_path, {".env": "HERMES_HOME=/elsewhere\nACP_SERVER_MODEL=a"})
    loaded = load(tmp_path)
    assert (loaded.home, loaded.settings.model) == (tmp_path, "a")


@pytest.mark.parametrize("below", ["missing", "missing/deeper", "file", "file/below"])
def test_a_missing_home_has_no_files_and_is_no_problem(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").touch()
    assert load(tmp_path / below) == Configuration(DEFAULTS, tmp_path / below, origins(), ())


def test_an_unreadable_home_is_reported_once_for_each_file(tmp_path: Path) -> None:
    home = tmp_path / ("x" * 300)
    assert load(home).problems == tuple(
        f"{home / name}: cannot be read: File name too long; ignored"
        for name in ("config.yaml", "acp/config.yaml", ".env")
    )


def test_hermes_settings_for_prompts_and_memory_are_read_in_its_format(tmp_path: Path) -> None:
    text = """\
agent:
  tool_use_enforcement: [gpt, glm]
  environment_probe: false
  environment_hint: A farm of two machines.
platform_hints:
  acp: {append: Be brief.}
memory:
  memory_enabled: false
  memory_char_limit: 3000
context_file_max_chars: 5000
"""
    write(tmp_path, {"config.yaml": text})
    current = load(tmp_path).settings
    assert current == build_settings(
        {
            "tool_use_enforcement": ("gpt", "glm"),
            "environment_probe": False,
            "environment_hint": "A farm of two machines.",
            "platform_hints": {"acp": PlatformHint(append="Be brief.")},
            "memory_enabled": False,
            "memory_char_limit": 3000,
            "context_file_max_chars": 5000,
        }
    )
