"""Programs are found on the search path, never in the working directory or a workspace."""

import os
import sys
from pathlib import Path

import pytest

from skills_store.programs import find_program

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs have endings there")


def program(folder: Path) -> str:
    folder.mkdir(parents=True)
    path = folder / "tool"
    path.touch(mode=0o755)
    return str(path)


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin"])
def test_a_relative_search_path_entry_is_skipped(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program(tmp_path / "here/bin")
    (tmp_path / "here/tool").touch(mode=0o755)
    installed = program(tmp_path / "usr/bin")
    monkeypatch.chdir(tmp_path / "here")
    assert find_program("tool", entry) is None
    search_path = os.pathsep.join((entry, str(tmp_path / "usr/bin")))
    assert find_program("tool", search_path) == installed


def test_a_program_in_the_workspace_is_skipped(tmp_path: Path) -> None:
    program(tmp_path / "workspace/.venv/bin")
    installed = program(tmp_path / "usr/bin")
    (tmp_path / "link").symlink_to(tmp_path / "workspace/.venv")
    entries = ("workspace/.venv/bin", "link/bin", "usr/bin")
    search_path = os.pathsep.join(str(tmp_path / entry) for entry in entries)
    outside = [tmp_path / "workspace"]
    assert find_program("tool", search_path, outside=outside) == installed
    assert find_program("tool", search_path) == str(tmp_path / "workspace/.venv/bin/tool")


def test_without_a_search_path_the_process_search_path_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = program(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_program("tool", None) == installed
    assert find_program("other", None) is None
