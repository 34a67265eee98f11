"""One predicate decides who sees a skill; what nobody knows hides nothing."""

from pathlib import Path

import pytest

from skills_store.document import parse_document
from skills_store.hermes_fields import read_words, required_commands, required_variables
from skills_store.skill import Skill, SkillRoot
from skills_store.visibility import (
    VisibilityFacts,
    is_offered,
    is_visible,
    normalize_platform,
    reason_hidden,
    visibility_facts,
)
from tests.skills_store.skill_files import skill_text
from tests.support.case_table import each_case

LINUX = VisibilityFacts(
    "linux", frozenset({"read_file", "terminal"}), frozenset({"file", "terminal", "mcp-jira"})
)


def skill_with(fields: str) -> Skill:
    """A skill of some further fields."""
    root = SkillRoot("home", Path("/skills"))
    frontmatter = parse_document(skill_text("pdf", fields=fields)).frontmatter
    return Skill("pdf", "Use it.", "files", root, frontmatter)


@each_case(
    ("fields", "reason"),
    [
        ("", None),
        ("platforms: [linux, macos]", None),
        ("platforms: [Linux]", None),
        ("platforms: linux, macos", None),
        ("platforms: []", None),
        ("platforms: [macos]", "it is for macos only"),
        ("platforms: [darwin, win32]", "it is for macos and windows only"),
        ("metadata:\n  platforms: windows", "it is for windows only"),
        ("metadata:\n  hermes:\n    platforms:\n      - macos", "it is for macos only"),
        ("requires_tools: [read_file]", None),
        ("requires_tools: [read_file, patch]", "it needs the tool patch, which is not there"),
        (
            "metadata:\n  hermes:\n    requires_tools: [patch]",
            "it needs the tool patch, which is not there",
        ),
        ("requires_toolsets: [terminal, mcp-jira]", None),
        ("requires_toolsets: [mcp-other]", "it needs the toolset mcp-other, which is not there"),
        ("requires_toolsets: [browser, code_execution]", None),
        ("requires_tools: [browser_click, execute_code, web_search]", None),
        ("requires_tools: [web_extract]", "it needs the tool web_fetch, which is not there"),
        (
            "fallback_for_tools: [execute_code]",
            "it stands in for the tool execute_code, which is there",
        ),
        ("fallback_for_tools: [web_fetch]", None),
        (
            "fallback_for_tools: [web_fetch, terminal]",
            "it stands in for the tool terminal, which is there",
        ),
        ("fallback_for_toolsets: [web]", None),
        (
            "metadata:\n  hermes:\n    fallback_for_toolsets: [mcp-jira]",
            "it stands in for the toolset mcp-jira, which is there",
        ),
    ],
)
def test_a_skill_is_hidden_for_a_reason(fields: str, reason: str | None) -> None:
    skill = skill_with(fields)
    assert reason_hidden(skill, LINUX) == reason
    assert is_visible(skill, LINUX) is (reason is None)


@each_case(
    ("fields", "is_listed"),
    [
        ("environments: [docker]", True),
        ("environments: docker, s6", True),
        ("environments: [kanban]", False),
        ("metadata:\n  hermes:\n    environments: [s6, kanban]", False),
        ("environments: [kanban, elsewhere]", True),
    ],
)
def test_a_skill_for_another_environment_is_not_listed_but_can_be_loaded(
    fields: str,
    is_listed: bool,  # noqa: FBT001
) -> None:
    facts = VisibilityFacts(environments=frozenset({"docker"}))
    assert is_offered(skill_with(fields), facts) is is_listed
    assert is_visible(skill_with(fields), facts)
    assert is_offered(skill_with(fields), VisibilityFacts())


@pytest.mark.parametrize(
    "fields",
    [
        "platforms: [macos]",
        "requires_tools: [x]",
        "requires_toolsets: [x]",
        "fallback_for_tools: [terminal]",
        "fallback_for_toolsets: [terminal]",
        "requires_tools: {x: 1}",
        "platforms: 3.5: x",
    ],
)
def test_unknown_requirements_hide_nothing(fields: str) -> None:
    assert is_visible(skill_with(fields), VisibilityFacts())


@pytest.mark.parametrize("name", ["pdf", "files/pdf"])
def test_a_disabled_skill_is_hidden_everywhere(name: str) -> None:
    assert reason_hidden(skill_with(""), VisibilityFacts(disabled=frozenset({name}))) == (
        "it is disabled"
    )


def test_a_toolset_is_available_if_one_of_its_tools_is() -> None:
    facts = visibility_facts({"read_file", "web_fetch", "mcp_jira_list"}, ["jira"], ["x"])
    assert facts.toolsets == {"file", "web", "mcp-jira"}
    assert (facts.disabled, facts.tools) == (
        {"x"},
        {"read_file", "web_fetch", "mcp_jira_list"},
    )


@pytest.mark.parametrize(
    ("name", "platform"),
    [
        ("darwin", "macos"),
        ("macOS", "macos"),
        ("win32", "windows"),
        ("Windows", "windows"),
        ("linux2", "linux"),
        ("haiku", "haiku"),
    ],
)
def test_each_platform_has_one_name(name: str, platform: str) -> None:
    assert normalize_platform(name) == platform


def test_requirements_are_read_from_every_supported_place() -> None:
    skill = skill_with(
        "tags: [a, b]\n"
        "prerequisites:\n  commands: [git, jq]\n  env_vars: [TOKEN]\n"
        "required_environment_variables:\n  - name: KEY\n    prompt: Key?\n"
        "  - name: EXTRA\n    optional: true\n  - PLAIN\n"
        "setup:\n  collect_secrets:\n    - env_var: SECRET\n"
        "metadata:\n  hermes:\n    tags: [b, c]\n    prerequisites:\n      commands: [git, rg]\n"
        "    required_environment_variables: LAST"
    )
    assert read_words(skill.frontmatter, "tags") == ("a", "b", "c")
    assert required_commands(skill.frontmatter) == ("git", "jq", "rg")
    assert required_variables(skill.frontmatter) == ("KEY", "PLAIN", "SECRET", "LAST", "TOKEN")
