"""MCP servers in files that a repository has for other agents."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_server.mcp.project_files import FileServers, read_server_files
from acp_server.mcp.server_configs import use_of, workspace_servers
from acp_server.session.ports.mcp_configs import ServerConfig
from tests.prompt_engine.sources.trees import write_tree

ENVIRONMENT = {"TOKEN": "t-1", "API_KEY": "a-1", "OPENAI_API_KEY": "secret"}


def read(root: Path, files: Mapping[str, object]) -> FileServers:
    texts = {
        name: text if isinstance(text, str) else json.dumps(text) for name, text in files.items()
    }
    return read_server_files([write_tree(root, texts)], ENVIRONMENT, {"OPENAI_API_KEY"})


def test_the_files_of_all_agents_are_read_and_the_first_name_counts(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        {
            ".mcp.json": {"mcpServers": {"a": {"command": "one"}, "off": {"disabled": True}}},
            ".vscode/mcp.json": {
                "servers": {"a": {"command": "two"}, "b": {"type": "http", "url": "u"}}
            },
            ".cursor/mcp.json": {"mcpServers": {"c": {"command": "three", "autoApprove": ["x"]}}},
        },
    )
    assert found.entries == {
        "a": {"command": "one"},
        "b": {"type": "http", "url": "u"},
        "c": {"command": "three"},
    }
    assert found.problems == ()


def test_comments_and_trailing_commas_are_read(tmp_path: Path) -> None:
    text = '{// of\n"servers": {"a": {"url": "https://x.example//y", /* no */ "type": "sse",},},}'
    found = read(tmp_path, {".vscode/mcp.json": text})
    assert found.entries == {"a": {"url": "https://x.example//y", "type": "sse"}}


@pytest.mark.parametrize(
    ("written", "filled"),
    [
        ("${TOKEN}", "t-1"),
        ("Bearer ${env:TOKEN}", "Bearer t-1"),
        ("${GONE:-other}", "other"),
        ("${input:api-key}", "a-1"),
        ("${input:level}", "high"),
        ("${workspaceFolder}/x", "{root}/x"),
        ("$TOKEN", "$TOKEN"),
    ],
)
def test_placeholders_are_replaced(tmp_path: Path, written: str, filled: str) -> None:
    entry = {"command": "run", "args": [written], "env": {"X": written}}
    inputs = [{"id": "level", "default": "high"}]
    found = read(tmp_path, {".vscode/mcp.json": {"servers": {"a": entry}, "inputs": inputs}})
    value = filled.replace("{root}", str(tmp_path))
    assert found.entries["a"] == {"command": "run", "args": [value], "env": {"X": value}}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"command": "${GONE}"}, "the environment variable GONE is not set"),
        ({"command": "x", "args": ["${input:pin}"]}, "set the environment variable PIN"),
        ({"command": "x", "env": {"A": "${OPENAI_API_KEY}"}}, "which no MCP server receives"),
        ({"command": "x", "envFile": ".env"}, "`envFile` is not supported"),
    ],
)
def test_a_server_without_its_values_is_named_and_affects_no_other(
    tmp_path: Path, entry: Mapping[str, object], reason: str
) -> None:
    found = read(tmp_path, {".mcp.json": {"mcpServers": {"a": entry, "b": {"command": "y"}}}})
    assert list(found.entries) == ["b"]
    (problem,) = found.problems
    assert problem.startswith("the MCP server a of .mcp.json is not used: ")
    assert reason in problem


@pytest.mark.parametrize("text", ["{", '{"mcpServers": [1]}', "[" * 100_000, "\0", "[]"])
def test_a_broken_file_is_harmless(tmp_path: Path, text: str) -> None:
    assert read(tmp_path, {".mcp.json": text}).entries == {}


def test_a_file_outside_the_workspace_is_not_read(tmp_path: Path) -> None:
    write_tree(tmp_path, {"x.json": '{"mcpServers": {"a": {"command": "x"}}}', "root/": ""})
    (tmp_path / "root/.mcp.json").symlink_to(tmp_path / "x.json")
    found = read(tmp_path / "root", {})
    assert (found.entries, len(found.problems)) == ({}, 1)


def test_a_server_is_decided_on_by_everything_but_the_values_of_variables() -> None:
    def digest(entry: dict[str, object], value: str) -> str:
        shown = json.loads(json.dumps(entry).replace("${TOKEN}", value))
        (config,) = configs({"a": shown})
        return use_of(config, json.loads(json.dumps(entry))).digest

    def configs(entries: dict[str, object]) -> tuple[ServerConfig, ...]:
        return workspace_servers(json.loads(json.dumps(entries)))[0]

    entry: dict[str, object] = {"command": "x", "env": {"A": "${TOKEN}"}}
    before = digest(entry, "1")
    assert digest(entry, "2") == before
    assert digest({**entry, "args": ["y"]}, "1") != before
    assert digest({**entry, "env": {"A": "${TOKEN}", "NODE_OPTIONS": "--require=x"}}, "1") != before
    (config,) = configs({"a": entry})
    assert use_of(config, None, ["TOKEN"]).phrase == (
        "the MCP server a (runs x), sets A, receives TOKEN"
    )
