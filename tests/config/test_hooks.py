"""Hooks as they are written down; what is written wrongly is told, and never lets calls by."""

from pathlib import Path

import pytest

from acp_server.config.checking import check_yaml
from acp_server.config.settings import Configuration, load
from acp_server.config.values import ToolHook, TurnHook


def load_text(home: Path, text: str) -> Configuration:
    (home / "acp").mkdir()
    (home / "acp/config.yaml").write_text(text)
    return load({}, {"HERMES_HOME": str(home)})


def test_hooks_are_read_in_order(tmp_path: Path) -> None:
    text = """\
hooks:
  before_tool:
    - command: first
    - {match: "patch|write_file", command: second, timeout_seconds: 2}
  after_turn:
    - command: third
"""
    current = load_text(tmp_path, text).settings
    assert current.hooks.before_tool == (
        ToolHook(command="first"),
        ToolHook(command="second", match="patch|write_file", timeout_seconds=2),
    )
    assert current.hooks.after_turn == (TurnHook(command="third"),)
    assert check_yaml(text) == []


@pytest.mark.parametrize(
    ("hook", "shown"),
    [
        ("{matcher: patch, command: x}", "hooks.before_tool.0.matcher: is not known"),
        ("{match: patch}", "hooks.before_tool.0.command: is missing"),
        ("{command: ''}", "hooks.before_tool.0.command: must not be empty"),
        ("{command: x, timeout_seconds: 0}", "hooks.before_tool.0.timeout_seconds: must be"),
        ("{command: x, timeout_seconds: 601}", "hooks.before_tool.0.timeout_seconds: must be"),
        ("just a line", "hooks.before_tool.0: must be"),
    ],
)
def test_an_invalid_hook_is_reported_and_not_dropped(tmp_path: Path, hook: str, shown: str) -> None:
    text = f"hooks:\n  before_tool:\n    - {hook}\n"
    (problem,) = [str(each) for each in check_yaml(text)]
    assert problem.startswith(shown)
    assert load_text(tmp_path, text).invalid_settings == {"hooks_before_tool"}
