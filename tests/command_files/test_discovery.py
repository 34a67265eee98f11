"""Which command files are found, under which names."""

from collections.abc import Mapping
from pathlib import Path

from acp_server.command_files.discovery import (
    CommandFile,
    command_places,
    find_command_files,
)
from tests.prompt_engine.sources.trees import write_tree


def find(root: Path, files: Mapping[str, str], *taken: str) -> list[CommandFile]:
    write_tree(root, files)
    places = command_places([root / "project"], root / "user", root / "home")
    return find_command_files(places, taken.__contains__)


def names(found: list[CommandFile]) -> list[str]:
    return [each.name for each in found]


def test_the_files_of_all_agents_are_found(tmp_path: Path) -> None:
    files = {
        "project/.hermes/commands/a.md": "A",
        "project/.claude/commands/b.md": "B",
        "project/.agents/commands/c.md": "C",
        "project/.opencode/command/d.md": "D",
        "project/.github/prompts/e.prompt.md": "E",
        "home/commands/f.md": "F",
        "user/.claude/commands/g.md": "G",
        "user/.config/opencode/command/h.md": "H",
        "project/.github/prompts/readme.md": "no prompt",
    }
    found = find(tmp_path, files)
    assert names(found) == list("abcdefgh")
    assert [each.place.is_users for each in found] == [False] * 5 + [True] * 3


def test_frontmatter_describes_a_command(tmp_path: Path) -> None:
    text = "---\ndescription: Ship it\nargument-hint: [version]\nmodel: haiku\n---\nShip $1."
    (command,) = find(tmp_path, {"project/.claude/commands/Ship It.md": text})
    assert (command.name, command.description) == ("ship-it", "Ship it")
    assert (command.hint, command.model) == ("[version]", "haiku")


def test_without_a_description_the_first_line_describes_it(tmp_path: Path) -> None:
    (command,) = find(tmp_path, {"project/.claude/commands/a.md": "\n# Ship the thing\nNow."})
    assert (command.description, command.hint, command.model) == ("Ship the thing", None, None)


def test_a_taken_name_gets_its_directory_as_a_prefix(tmp_path: Path) -> None:
    files = {
        "project/.claude/commands/review.md": "1",
        "project/.claude/commands/web/review.md": "2",
        "project/.claude/commands/web/lint.md": "3",
        "project/.opencode/command/lint.md": "4",
        "user/.claude/commands/lint.md": "5",
        "user/.config/opencode/command/lint.md": "6",
    }
    found = find(tmp_path, files, "review")
    assert names(found) == [
        "claude:review",
        "lint",
        "web:review",
        "opencode:lint",
        "user:lint",
        "user:opencode:lint",
    ]


def test_nothing_outside_the_workspace_is_found(tmp_path: Path) -> None:
    write_tree(tmp_path, {"secret.md": "S", "project/.claude/commands/": ""})
    (tmp_path / "project/.claude/commands/a.md").symlink_to(tmp_path / "secret.md")
    assert find(tmp_path, {}) == []
