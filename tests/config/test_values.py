"""Settings of several parts: skills, servers, checks; what fits of them, and what is hidden."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import SecretStr

from acp_server.config.fitting import InvalidPart, validate_setting
from acp_server.config.settings import load, setting_sources
from acp_server.config.table import Settings, build_settings
from acp_server.config.values import FeatureFilterSetting, HttpServer, SseServer, StdioServer
from acp_server.skills.config import SkillConfig
from skills_store.index import MAX_CHARACTERS
from tests.support.case_table import each_case
from tests.support.user_texts import NOT_A_MAPPING

NO_SERVER = NOT_A_MAPPING


def load_text(home: Path, text: str) -> tuple[Settings, tuple[str, ...]]:
    (home / "acp").mkdir()
    (home / "acp" / "config.yaml").write_text(text)
    configuration = load({}, {"HERMES_HOME": str(home)})
    file = f"{home / 'acp' / 'config.yaml'}: "
    return configuration.settings, tuple(p.removeprefix(file) for p in configuration.problems)


def test_every_setting_has_a_description_a_source_and_a_default() -> None:
    for name, source in setting_sources().items():
        assert source.description
        assert source.key or source.variable or source.option, name


@pytest.mark.parametrize("place", ["key", "variable", "option"])
def test_no_two_settings_share_a_source(place: str) -> None:
    values = [
        getattr(source, place) for source in setting_sources().values() if getattr(source, place)
    ]
    assert len(values) == len(set(values))


def test_the_length_of_the_skill_list_is_that_of_the_store() -> None:
    assert SkillConfig().max_characters == MAX_CHARACTERS


def test_skill_settings_are_read(tmp_path: Path) -> None:
    text = """\
skills:
  external_dirs: ~/shared
  disabled: [one, two]
  platform_disabled: {acp: three}
  creation_nudge_interval: 0
  review_writes: off
  review_wait_seconds: 0.5
  curator: off
memory: {nudge_interval: 5}
"""
    assert load_text(tmp_path, text) == (
        build_settings(
            {
                "skills_external_dirs": (Path.home() / "shared",),
                "skills_disabled": ("one", "two"),
                "skills_platform_disabled": {"acp": ("three",)},
                "skills_creation_nudge_interval": 0,
                "skills_review_writes": "off",
                "skills_review_wait_seconds": 0.5,
                "skills_curator": "off",
                "memory_nudge_interval": 5,
            }
        ),
        (),
    )


def test_a_server_uses_its_declared_or_inferred_transport() -> None:
    written: Mapping[str, object] = {
        "program": {"command": "npx", "args": ["-y", "x"], "env": {"PORT": 80, "KEY": "k"}},
        "address": {"url": "https://a/mcp", "headers": {"Authorization": "k"}, "timeout": 5},
        "events": {"type": "sse", "url": "http://a/sse"},
        "of hermes": {"transport": "sse", "url": "http://a/sse", "tools": {"include": ["a"]}},
        "off": {"command": "x", "enabled": False},
    }
    sse = SseServer.model_validate({"type": "sse", "url": "http://a/sse"})
    found = validate_setting("mcp_servers", written)
    assert (found.is_usable, found.invalid_parts) == (True, ())
    assert found.value == {
        "program": StdioServer(
            command="npx",
            args=("-y", "x"),
            env={"PORT": SecretStr("80"), "KEY": SecretStr("k")},
        ),
        "address": HttpServer(
            url="https://a/mcp", headers={"Authorization": SecretStr("k")}, timeout=5
        ),
        "events": sse,
        "of hermes": sse.model_copy(update={"tools": FeatureFilterSetting(include=("a",))}),
        "off": StdioServer(command="x", enabled=False),
    }


def test_an_invalid_server_does_not_invalidate_others(tmp_path: Path) -> None:
    text = """\
mcp_servers:
  good: {command: x}
  empty: {}
  odd: {url: "ftp://x"}
  worse: 5
"""
    current, problems = load_text(tmp_path, text)
    assert current.mcp_servers == {"good": StdioServer(command="x")}
    assert problems == (
        "mcp_servers.empty.command: is missing; ignored",
        "mcp_servers.odd.url: must begin with http:// or https://; ignored",
        f"mcp_servers.worse: {NO_SERVER}; ignored",
    )


def test_if_all_servers_are_invalid_those_of_the_lower_source_apply(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("mcp_servers: {below: {command: x}}")
    current, problems = load_text(tmp_path, "mcp_servers: {broken: {}}")
    assert current.mcp_servers == {"below": StdioServer(command="x")}
    assert problems == ("mcp_servers.broken.command: is missing; ignored",)


@pytest.mark.parametrize("secret", ["a-secret", "[a-secret]", "{a: a-secret}"])
def test_possible_secrets_are_not_repeated_in_error_messages(tmp_path: Path, secret: str) -> None:
    text = f"mcp_servers: {{a: {{command: 5, env: {{KEY: {secret}}}, args: {secret}}}}}"
    current, problems = load_text(tmp_path, text)
    assert problems
    assert "a-secret" not in f"{problems} {current}"


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("ruff check {path}", ("ruff", "check", "{path}")),
        ("'my tool' --x=\"a b\"", ("my tool", "--x=a b")),
        (["tsc", "--noEmit"], ("tsc", "--noEmit")),
    ],
)
def test_a_command_is_a_string_or_a_list_of_words(written: object, words: tuple[str, ...]) -> None:
    assert validate_setting("diagnostics_commands", {"a": written}).value == {"a": words}


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("", InvalidPart(("a",), "must not be empty")),
        ("'open", InvalidPart(("a",), "No closing quotation")),
        (5, InvalidPart(("a",), "must be a list")),
    ],
    ids=["empty", "open quote", "number"],
)
def test_an_invalid_command_is_reported(written: object, complaint: InvalidPart) -> None:
    assert validate_setting("diagnostics_commands", {"a": written}).invalid_parts == (complaint,)


@pytest.mark.parametrize("seconds", [0, 2.5])
def test_an_out_of_range_diagnostics_timeout_is_rejected(seconds: float) -> None:
    assert not validate_setting("diagnostics_timeout_seconds", seconds).is_usable


@each_case(
    ("text", "expected"),
    [
        ("model: {fast_mode: true}", True),
        ("agent: {service_tier: fast}", True),
        ("agent: {service_tier: priority}", True),
        ("agent: {service_tier: normal}", False),
        ("agent: {service_tier: auto}", False),
        ("agent: {service_tier: ''}", False),
        ("{}", False),
    ],
)
def test_fast_mode_is_set_by_our_key_or_as_hermes_writes_it(
    tmp_path: Path, text: str, expected: object
) -> None:
    (tmp_path / "config.yaml").write_text(text)
    assert load({}, {"HERMES_HOME": str(tmp_path)}).settings.fast_mode is expected
