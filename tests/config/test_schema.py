"""The published schema and the template: both follow from the table of settings."""

import json
from pathlib import Path
from typing import cast

import pytest
import yaml
from jsonschema import Draft202012Validator, ValidationError
from pydantic import JsonValue

from acp_server.config.checking import check_yaml
from acp_server.config.schema import config_schema
from acp_server.config.table import setting_sources
from acp_server.config.template import config_template
from tests.config.schema_validation import validate_settings
from tests.support.case_table import each_case

PUBLISHED = Path(__file__).parents[2] / "editors" / "config.schema.json"


def uncomment(text: str) -> str:
    return "\n".join(line.removeprefix("# ") for line in text.splitlines()[6:])


def test_the_published_schema_is_current() -> None:
    """Renew it by `acp-server config schema > editors/config.schema.json`."""
    assert PUBLISHED.read_text() == f"{json.dumps(config_schema(), indent=2)}\n"


def test_the_schema_is_a_valid_json_schema() -> None:
    Draft202012Validator.check_schema(config_schema())


@each_case(
    "text",
    [
        "{}",
        "model: short",
        "model: {default: long}",
        "agent: {tool_use_enforcement: [a]}",
        "skills: {disabled: one, external_dirs: [a, b], review_writes: 'off'}",
        "mcp_servers: {a: {command: x, env: {A: b, P: 1}}, b: {url: 'http://x'}}",
        "mcp_servers: {a: {type: sse, url: 'http://x'}}",
        "diagnostics: {commands: {python: ruff check, c: [cc]}, timeout_seconds: 1}",
        "platform_hints: {acp: {append: x}}",
    ],
)
def test_values_accepted_by_the_schema_are_accepted_by_the_loader(text: str) -> None:
    document = cast("JsonValue", yaml.safe_load(text))
    validate_settings(document)
    assert check_yaml(text) == []


@each_case(
    "text",
    [
        "modle: a",
        "log: {level: loud}",
        "log: {levle: info}",
        "skills: {curator: sometimes}",
        "mcp_servers: {a: {}}",
        "mcp_servers: {a: {url: 'ftp://x'}}",
        "diagnostics: {timeout_seconds: 3}",
        "max_turn_requests: 0",
    ],
)
def test_values_rejected_by_the_schema_are_reported(text: str) -> None:
    document = cast("JsonValue", yaml.safe_load(text))
    with pytest.raises(ValidationError):
        validate_settings(document)
    assert check_yaml(text) != []


def test_the_template_sets_no_value_and_names_its_schema() -> None:
    assert yaml.safe_load(config_template()) is None
    assert config_template().startswith("# yaml-language-server: $schema=./config.schema.json\n")


def test_the_uncommented_template_is_valid_and_contains_every_key() -> None:
    text = uncomment(config_template())
    assert check_yaml(text) == []
    document = cast("dict[str, JsonValue]", yaml.safe_load(text))
    for source in setting_sources().values():
        value: JsonValue = document
        for part in source.key.split(".") if source.key else ():
            assert isinstance(value, dict)
            assert part in value, source.key
            value = value[part]
