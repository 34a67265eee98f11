"""Searches read below the folder that was looked at, and nothing that is put there by a link."""

import subprocess
from pathlib import Path

import pytest

from acp_server.tools.search.query import FileSearchQuery
from acp_server.tools.search.ripgrep import find_ripgrep
from acp_server.tools.search.search import search
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    make_sandbox,
    needs_sandbox,
)

pytestmark = needs_sandbox


@pytest.fixture
def ground(tmp_path: Path) -> SandboxDirectories:
    directories = create_directories(tmp_path)
    for name, text in {
        "src/app.py": "word\n",
        "src/kept/app.py": "word\n",
        "src/build/out.py": "word\n",
        "src/local/note.py": "word\n",
        ".gitignore": "build/\n",
        ".git/HEAD": "ref: refs/heads/main\n",
        ".git/info/exclude": "local/\n",
    }.items():
        path = directories.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (directories.outside / "there.txt").write_text("word\n")
    return directories


async def launcher_of(sandbox: SessionSandbox, root: Path) -> tuple[str, ...]:
    return await sandbox.wrap_search(root, find_ripgrep(()), hides_private_paths=True)


def files_found(launcher: tuple[str, ...], folder: Path) -> bytes:
    """Return all files that a search finds which does follow links."""
    command = [str(find_ripgrep(())), "--follow", "--hidden", "--no-messages", "-l", ".", "./"]
    run = subprocess.run([*launcher, *command], cwd=folder, capture_output=True, check=False)
    return run.stdout


@pytest.mark.parametrize("below", [".", "src", "src/kept", "src/app.py"])
async def test_a_confined_search_finds_the_same_results(
    ground: SandboxDirectories, below: str
) -> None:
    root = ground.root / below
    launcher = await launcher_of(make_sandbox(ground), root.resolve())
    free = await search(FileSearchQuery("word", root), ground.root)
    assert launcher
    assert "app.py" in free.text
    assert await search(FileSearchQuery("word", root), ground.root, (), launcher) == free


async def test_a_link_gives_a_confined_search_no_access(ground: SandboxDirectories) -> None:
    (ground.root / "door").symlink_to(ground.outside)
    (ground.root / "keys").symlink_to(ground.home / ".ssh")
    launcher = await launcher_of(make_sandbox(ground), ground.root)
    unconfined, confined = (files_found((), ground.root), files_found(launcher, ground.root))
    assert b"door/there.txt" in unconfined
    assert b"keys/id_ed25519" in unconfined
    assert b"src/app.py" in confined
    assert b"door/" not in confined
    assert b"keys/" not in confined


async def test_a_root_that_became_a_link_gives_a_confined_search_no_access(
    ground: SandboxDirectories,
) -> None:
    launcher = await launcher_of(make_sandbox(ground), ground.root / "src")
    (ground.root / "src").rename(ground.root / "was")
    (ground.root / "src").symlink_to(ground.outside)
    found = await search(FileSearchQuery("word", ground.outside), ground.outside, (), launcher)
    assert found.hits == ()


async def test_private_files_below_the_root_stay_private(ground: SandboxDirectories) -> None:
    launcher = await launcher_of(make_sandbox(ground), ground.home)
    found = await search(FileSearchQuery("hush|nothing", ground.home), ground.home, (), launcher)
    assert [hit.path.name for hit in found.hits] == ["today.md"]
