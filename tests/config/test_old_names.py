"""Settings that were renamed: their old names still work, and `config check` reports them."""

from pathlib import Path
from typing import cast

import pytest
import yaml
from pydantic import JsonValue

from acp_server.config.checking import check_dotenv, check_yaml
from acp_server.config.schema import config_schema
from acp_server.config.settings import Configuration, load
from acp_server.config.table import setting_sources, setting_values, value_at
from acp_server.config.template import config_template
from tests.cli.command_line import run
from tests.config.schema_validation import validate_settings

VALUES: dict[str, JsonValue] = {
    "model": "a",
    "additional_providers": ["vllm"],
    "read_timeout_seconds": 3,
    "connect_timeout_seconds": 4,
    "max_retries": 2,
    "cache_ttl": "1h",
    "memory_write_approval": True,
    "skills_name_only_categories": ["music"],
    "busy_input_mode": "queue",
    "mcp_startup_wait_seconds": 1,
}
OLD_KEYS = [(name, key) for name, source in setting_sources().items() for key in source.old_keys]
OLD_VARIABLES = [
    (name, variable)
    for name, source in setting_sources().items()
    for variable in source.old_variables
]
each_old_key = pytest.mark.parametrize(("name", "old"), OLD_KEYS)
each_old_variable = pytest.mark.parametrize(("name", "old"), OLD_VARIABLES)


def yaml_with(**values: JsonValue) -> str:
    """Return a YAML text with these values; `__` in a name separates the parts of its key."""
    document: dict[str, JsonValue] = {}
    for name, value in values.items():
        *parents, last = name.split("__")
        section = document
        for part in parents:
            section = cast("dict[str, JsonValue]", section.setdefault(part, {}))
        section[last] = value
    return yaml.safe_dump(document)


def text_of(key: str, value: JsonValue) -> str:
    return yaml_with(**{key.replace(".", "__"): value})


def load_text(home: Path, text: str) -> Configuration:
    (home / "acp").mkdir(exist_ok=True)
    (home / "acp" / "config.yaml").write_text(text)
    return load({}, {"HERMES_HOME": str(home)})


def value_of(configuration: Configuration, name: str) -> JsonValue:
    value = cast("JsonValue", setting_values(configuration.settings)[name])
    return list(value) if isinstance(value, tuple) else value


@each_old_key
def test_an_old_key_still_works(tmp_path: Path, name: str, old: str) -> None:
    configuration = load_text(tmp_path, text_of(old, VALUES[name]))
    assert (value_of(configuration, name), configuration.problems) == (VALUES[name], ())


@each_old_variable
def test_an_old_variable_still_works(tmp_path: Path, name: str, old: str) -> None:
    variables = {"HERMES_HOME": str(tmp_path), old: str(VALUES[name])}
    configuration = load({}, variables)
    assert (value_of(configuration, name), configuration.problems) == (VALUES[name], ())
    assert configuration.origins[name] == "environment"


@each_old_key
def test_a_new_key_has_precedence_in_the_same_file(tmp_path: Path, name: str, old: str) -> None:
    new = setting_sources()[name].key
    both = {new.replace(".", "__"): VALUES[name], old.replace(".", "__"): "not valid: [5]"}
    configuration = load_text(tmp_path, yaml_with(**both))
    assert (value_of(configuration, name), configuration.problems) == (VALUES[name], ())
    assert f"{old}: is ignored: {new} is also set" in map(str, check_yaml(yaml_with(**both)))


def test_an_old_key_overrides_a_new_key_of_a_lower_source(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("busy_input_mode: interrupt")
    assert load_text(tmp_path, "busy_prompt: queue").settings.busy_input_mode == "queue"


@each_old_key
def test_the_check_names_the_new_key_and_the_line(name: str, old: str) -> None:
    new = setting_sources()[name].key
    text = f"# a comment\n{text_of(old, VALUES[name])}"
    (problem,) = check_yaml(text)
    assert str(problem) == f"{old}: was renamed to {new}; the old name still works"
    assert problem.line is not None
    assert old.rpartition(".")[2] in text.splitlines()[problem.line - 1]
    assert check_yaml(text_of(old, VALUES[name]), is_shared=True) == []


@each_old_variable
def test_the_check_names_the_new_variable_and_the_line(name: str, old: str) -> None:
    new = setting_sources()[name].variable
    text = f"# a comment\n{old}={VALUES[name]}\n"
    (problem,) = check_dotenv(text)
    assert (problem.line, str(problem)) == (
        2,
        f"{old}: was renamed to {new}; the old name still works",
    )
    (problem,) = check_dotenv(f"{new}={VALUES[name]}\n{text}")
    assert str(problem) == f"{old}: is ignored: {new} is also set"


def test_an_invalid_value_is_reported_under_the_name_that_was_written(tmp_path: Path) -> None:
    (problem,) = load_text(tmp_path, "anthropic: {retries: -1}").problems
    assert problem == (
        f"{tmp_path / 'acp' / 'config.yaml'}: anthropic.retries: "
        "must be greater than or equal to 0; ignored"
    )


def test_old_names_are_no_failure_of_the_check(tmp_path: Path) -> None:
    (tmp_path / "acp").mkdir()
    (tmp_path / "acp" / "config.yaml").write_text("memory: {ask: true}\n")
    (tmp_path / ".env").write_text("ACP_SERVER_RETRIES=1\n")
    outcome = run(tmp_path, "config", "check", ACP_SERVER_BUSY_PROMPT="queue")
    assert outcome.exit_code == 0
    assert [line.rpartition(": ")[0] for line in outcome.stdout.splitlines()] == [
        f"{tmp_path / 'acp' / 'config.yaml'}:1: memory.ask",
        f"{tmp_path / '.env'}:1: ACP_SERVER_RETRIES",
        "environment: ACP_SERVER_BUSY_PROMPT",
    ]


@each_old_key
def test_the_schema_accepts_an_old_key_and_marks_it_as_deprecated(name: str, old: str) -> None:
    validate_settings(yaml.safe_load(text_of(old, VALUES[name])))
    section, _, last = old.rpartition(".")
    schema = cast("dict[str, JsonValue]", config_schema()["properties"])
    if section:
        found = cast("dict[str, JsonValue]", schema[section])
        variants = cast("list[dict[str, JsonValue]]", found.get("anyOf", [found]))
        schema = cast("dict[str, JsonValue]", variants[-1]["properties"])
    assert cast("dict[str, JsonValue]", schema[last])["deprecated"] is True


def test_the_template_has_new_names_only() -> None:
    text = "\n".join(line.removeprefix("# ") for line in config_template().splitlines()[6:])
    document = cast("dict[str, JsonValue]", yaml.safe_load(text))
    assert [old for _, old in OLD_KEYS if value_at(document, old) is not None] == []


def test_no_old_name_hides_a_current_one() -> None:
    current = {
        each for source in setting_sources().values() for each in (source.key, source.variable)
    }
    for _, old in (*OLD_KEYS, *OLD_VARIABLES):
        assert old not in current
        assert not any(each.startswith(f"{old}.") for each in current)
        assert not any(old.startswith(f"{each}.") for each in current if each)
