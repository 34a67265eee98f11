"""Blocks of code in the documentation are what they say: they parse, and settings are valid."""

import ast
import configparser
import json
import re
import tomllib
from collections.abc import Callable, Mapping

import yaml

from acp_server.config.checking import check_yaml
from tests.documentation.pages import Code, code_of, documentation

FRONTMATTER = re.compile(r"\A---\n(.*?)^---$", re.DOTALL | re.MULTILINE)
NO_SETTINGS = {
    ("docs/reports.md", "apiVersion"),  # a job of Kubernetes
    ("docs/reports.md", "name"),  # a workflow of GitHub
    ("docs/skills.md", "name"),  # a bundle
    ("editors/ci/gitlab/README.md", "include"),
}
"""YAML blocks that are no settings, by page and first key."""


def parse_yaml(text: str) -> None:
    list(yaml.safe_load_all(text))


def parse_frontmatter(text: str) -> None:
    if found := FRONTMATTER.match(text):
        parse_yaml(found[1])


def parse_units(text: str) -> None:
    configparser.RawConfigParser().read_string(text)


PARSERS: Mapping[str, Callable[[str], object]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": parse_yaml,
    "python": ast.parse,
    "markdown": parse_frontmatter,
    "ini": parse_units,
    "sh": str,  # see test_commands.py
    "lua": str,  # equal to shipped files, see tests/editors/test_pages.py
    "elisp": str,
    "text": str,
}


def blocks() -> list[Code]:
    return [code for page in documentation() for code in code_of(page) if code.is_block]


def test_every_block_names_its_language_and_parses() -> None:
    problems: list[str] = []
    for block in blocks():
        if block.language not in PARSERS:
            problems.append(f"{block}: the language {block.language!r}")
            continue
        try:
            PARSERS[block.language](block.text)
        except (ValueError, SyntaxError, yaml.YAMLError, configparser.Error) as error:
            problems.append(f"{block}: {error}")
    assert problems == []


def test_every_block_of_settings_is_valid_and_has_only_known_keys() -> None:
    settings = [block for block in blocks() if block.language == "yaml" and not is_other(block)]
    assert settings
    problems = {str(block): list(map(str, check_yaml(block.text))) for block in settings}
    assert {name: found for name, found in problems.items() if found} == {}


def is_other(block: Code) -> bool:
    return (block.page, block.text.partition(":")[0]) in NO_SETTINGS
