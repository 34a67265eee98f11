"""PATH of commands: which of its entries belong to the workspace.

A repository can hold a program named `ls`. A command that is judged by the names of its programs
must therefore not find them in a directory of the workspace, nor in the working directory.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from acp_server.permissions.shell.assessment import list_command_words
from acp_server.permissions.version_managers import find_version_file

MAX_DIRECTORIES = 64
"""Of a line with many `cd`."""


def remove_workspace_entries(search_path: str, roots: Sequence[Path]) -> str:
    """Return a PATH without relative entries and those inside `roots`, symlinks resolved."""
    kept = (each for each in search_path.split(os.pathsep) if not _is_in_workspace(each, roots))
    # Security: an empty PATH would mean the working directory.
    return os.pathsep.join(kept) or os.defpath


def find_workspace_programs(
    command: str, cwd: Path, search_path: str, roots: Sequence[Path]
) -> tuple[str, ...]:
    """Return the paths of programs that a command would take from the workspace by its PATH.

    For a shim of a version manager, that is the file of the workspace that chooses the program.
    """
    entries = search_path.split(os.pathsep)
    commands = [words for words in list_command_words(command) or () if words]
    names = {words[0] for words in commands}
    directories = _list_directories(commands, cwd)
    found: list[str] = []
    for name in sorted(name for name in names if "/" not in name):
        entry = next((each for each in entries if shutil.which(name, path=str(cwd / each))), None)
        if entry is None:
            continue
        if _is_in_workspace(entry, roots):
            found.append(os.path.normpath(cwd / entry / name))
        elif version_file := find_version_file(cwd / entry / name, directories, roots):
            found.append(str(version_file))
    return tuple(found)


def _list_directories(commands: Sequence[Sequence[str]], cwd: Path) -> list[Path]:
    """Return the directories that the commands of a line may run in."""
    directories = [cwd]
    for words in commands:
        if words[0] in {"cd", "pushd"} and len(words) > 1:
            moved = (Path(os.path.normpath(each / words[-1])) for each in directories)
            directories = list(dict.fromkeys((*directories, *moved)))[:MAX_DIRECTORIES]
    return directories


def _is_in_workspace(entry: str, roots: Sequence[Path]) -> bool:
    directory = Path(entry)
    # Relative and empty entries mean the working directory.
    if not directory.is_absolute():
        return True
    # Both names count: a link in the workspace could be replaced by a directory.
    places = (directory, directory.resolve())
    return any(place.is_relative_to(root) for place in places for root in roots)
