"""What searches leave out unasked: the ignore files of all roots, and this program's settings."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.permissions.secret_workspace import (
    MARKER,
    RecordingUser,
    SecretWorkspace,
    create_secret_workspace,
    open_tool_caller,
)


@dataclass(slots=True)
class OddSecretWorkspace(SecretWorkspace):
    """A stage on which this program's folder has a name full of characters that globs use."""

    @property
    def config_home(self) -> Path:
        return self.root / "a[b]{c}"


@pytest.mark.parametrize(
    "line", ["/hidden", "hidden/", "hidden/file.txt", "*.txt", "h?dden", "**/file.*", "HIDDEN"]
)
async def test_an_additional_directory_has_its_own_ignore_file(tmp_path: Path, line: str) -> None:
    workspace = create_secret_workspace(tmp_path)
    added = workspace.base / "added"
    workspace.write_file(added / ".hermesignore", f"{line}\n")
    workspace.write_file(added / "hidden/file.txt", f"{MARKER}\n")
    async with open_tool_caller(workspace, "ask", additional=(added,)) as caller:
        for path in (str(added), str(added / "hidden"), str(added / "hidden/file.txt")):
            arguments: dict[str, JsonValue] = {"pattern": "hush", "path": path}
            assert MARKER not in (await caller.call("search_files", arguments)).text
        assert (await caller.call("terminal", {"command": f"cat {added}/*/file.txt"})).is_error


async def test_a_settings_directory_with_an_odd_name_is_excluded(tmp_path: Path) -> None:
    workspace = OddSecretWorkspace(tmp_path)
    workspace.write_file(workspace.config_home / "notes.txt", f"{MARKER}\n")
    workspace.write_file("a/notes.txt", "hush, but no secret\n")
    async with open_tool_caller(workspace, "ask") as caller:
        outcome = await caller.call("search_files", {"pattern": "hush"})
    assert (caller.user, MARKER in outcome.text, "no secret" in outcome.text) == (
        RecordingUser(), False, True,
    )  # fmt: skip
