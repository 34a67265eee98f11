"""`acp-server config show --cwd`: what a project's frontmatter gives, and what it asks in vain."""

import json
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from tests.cli.command_line import run
from tests.support.user_texts import NO_SUCH_MODEL

FRONTMATTER = """---
mode: plan
model: unheard of
tools: [read_file, own__echo]
mcp_servers:
  own: {command: serve, env: {KEY: abc-secret}}
  theirs: {command: other}
  odd: {url: 5}
hooks: {}
---
Be kind.
"""
NOT_TRUSTED = "the workspace is not trusted (`acp-server trust`)"


def project(folder: Path) -> tuple[Path, Path]:
    """Return the home and the root of a project."""
    home, root = folder / "home", folder / "project"
    for each in (home, root):
        each.mkdir()
    (home / "config.yaml").write_text("mcp_servers: {theirs: {command: mine}}\n")
    (root / ".hermes.md").write_text(FRONTMATTER)
    return home, root


def show_config(home: Path, root: Path) -> tuple[dict[str, JsonValue], list[str]]:
    """Return what comes from the project, by name, and what of it is not used."""
    outcome = run(home, "config", "show", "--cwd", str(root), "--json")
    report = json.loads(outcome.stdout)
    file = str(root / ".hermes.md")
    rows = cast("list[dict[str, JsonValue]]", report["settings"])
    unused = cast("list[dict[str, str]]", report["project"]["unused"])
    assert {each["origin"] for each in unused} == {file}
    values = {str(row["key"]): row["value"] for row in rows if row["origin"] == file}
    return values, [each["what"] for each in unused]


IN_VAIN = [
    NO_SUCH_MODEL,
    "hooks (a project cannot set it)",
    "the workspace's MCP server odd: url: must be a text",
    "mcp_servers.theirs (your settings already have a server of this name)",
]


def test_values_of_a_trusted_project_name_their_file(tmp_path: Path) -> None:
    home, root = project(tmp_path)
    run(home, "trust", str(root))
    values, unused = show_config(home, root)
    server = cast("dict[str, JsonValue]", values.pop("mcp_servers.own"))
    assert (server["command"], server["env"]) == ("serve", {"KEY": "(hidden)"})
    assert values == {"default_mode": "plan", "tools": ["read_file", "own__echo"]}
    assert unused == IN_VAIN


def test_settings_of_an_untrusted_project_are_listed_but_not_used(tmp_path: Path) -> None:
    home, root = project(tmp_path)
    values, unused = show_config(home, root)
    assert values == {}
    assert [each.partition(":")[0] for each in unused[:3]] == ["mode", "tools", "mcp_servers.own"]
    assert all(each.endswith(f"({NOT_TRUSTED})") for each in unused[:3])
    assert unused[3:] == IN_VAIN
    result = run(home, "config", "show", "--cwd", str(root))
    assert f"note: {root / '.hermes.md'}: mode: plan ({NOT_TRUSTED}): not used" in result.stderr
    assert "abc-secret" not in result.stdout + result.stderr


def test_a_project_mode_that_widens_permissions_is_not_used(tmp_path: Path) -> None:
    home, root = project(tmp_path)
    (root / ".hermes.md").write_text("---\nmode: ask\n---\n")
    (home / "config.yaml").write_text("default_mode: plan\n")
    run(home, "trust", str(root))
    assert show_config(home, root) == ({}, ["mode: ask (your settings allow less)"])
