"""Another name of a secret, a hard link, is as secret as the secret."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.permissions.secret_workspace import (
    MARKER,
    SecretWorkspace,
    create_secret_workspace,
    open_tool_caller,
)

ATTEMPTS: dict[str, tuple[str, dict[str, JsonValue]]] = {
    "reading": ("read_file", {"path": "seen.txt"}),
    "reading a link of a key at home": ("read_file", {"path": "src/key.txt"}),
    "writing": ("write_file", {"path": "seen.txt", "content": "x"}),
    "printing": ("terminal", {"command": "cat seen.txt"}),
    "printing by a pattern": ("terminal", {"command": "cat see*"}),
    "searching a folder": ("terminal", {"command": "grep -r hush src"}),
    "searching files": ("terminal", {"command": "grep hush src/*.txt"}),
    "searching by the tool": ("search_files", {"pattern": "hush"}),
    "searching a folder by the tool": ("search_files", {"pattern": "hush", "path": "src"}),
}


@pytest.fixture
def space(tmp_path: Path) -> SecretWorkspace:
    """A workspace with hard links to its secrets, and to one of the home."""
    space = create_secret_workspace(tmp_path)
    links = {
        space.root / "seen.txt": space.root / ".env",
        space.root / "src/key.txt": space.home / ".ssh/id_rsa",
        space.root / "src/seen.txt": space.root / "server.key",
    }
    for link, secret in links.items():
        link.hardlink_to(secret)
    return space


@pytest.mark.parametrize("attempt", ATTEMPTS.values(), ids=ATTEMPTS.keys())
async def test_a_hard_link_to_a_secret_shows_nothing_unasked(
    space: SecretWorkspace, attempt: tuple[str, dict[str, JsonValue]]
) -> None:
    async with open_tool_caller(space, "accept_edits") as caller:
        caller.mark_read("seen.txt")
        outcome = await caller.call(*attempt)
        assert MARKER not in outcome.text
        is_search = attempt[0] == "search_files"
        assert len(caller.user.questions) == (0 if is_search else 1)


async def test_a_secret_in_a_folder_above_is_found(space: SecretWorkspace) -> None:
    (space.root / "config/deep").mkdir()
    (space.root / "config/deep/seen.txt").hardlink_to(space.root / "config/prod.env")
    async with open_tool_caller(space, "ask") as caller:
        outcome = await caller.call("read_file", {"path": "config/deep/seen.txt"})
        assert outcome.is_error
        assert len(caller.user.questions) == 1


async def test_other_hard_links_are_ordinary(space: SecretWorkspace) -> None:
    (space.root / "src/copy.py").hardlink_to(space.root / "src/app.py")
    async with open_tool_caller(space, "ask") as caller:
        for tool, arguments in (
            ("read_file", {"path": "src/copy.py"}),
            ("terminal", {"command": "cat src/copy.py"}),
            ("terminal", {"command": "grep -r hello src/deep src/copy.py"}),
        ):
            outcome = await caller.call(tool, arguments)
            assert not caller.user.questions
            assert "Rejected" not in outcome.text
