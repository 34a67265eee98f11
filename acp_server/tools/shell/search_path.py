"""PATH of commands: which of its entries belong to the workspace.

A repository can hold a program named `ls`. A command that is judged by the names of its programs
must therefore not find them in a directory of the workspace, nor in the working directory.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from acp_server.permissions.effects import WorkspaceProgram
from acp_server.permissions.shell.findings import ProgramCall
from acp_server.permissions.version_managers import find_version_file


def remove_workspace_entries(search_path: str, roots: Sequence[Path]) -> str:
    """Return a PATH without relative entries and those inside `roots`, symlinks resolved."""
    kept = (each for each in search_path.split(os.pathsep) if not _is_in_workspace(each, roots))
    # Security: an empty PATH would mean the working directory.
    return os.pathsep.join(kept) or os.defpath


def find_workspace_programs(
    calls: Iterable[ProgramCall], cwd: Path, search_path: str, roots: Sequence[Path]
) -> tuple[WorkspaceProgram, ...]:
    """Return the programs of a command that PATH finds in the workspace, or that it chooses.

    `cwd` is the directory that the command starts in. Blocks.
    """
    entries = search_path.split(os.pathsep)
    directories: dict[str, dict[Path, None]] = {}
    for call in calls:
        folders = directories.setdefault(call.name, {})
        folders.update(dict.fromkeys(map(Path, call.directories)))
    found: list[WorkspaceProgram] = []
    for name in sorted(name for name in directories if "/" not in name):
        entry = next((each for each in entries if shutil.which(name, path=str(cwd / each))), None)
        if entry is None:
            continue
        program = cwd / entry / name
        if _is_in_workspace(entry, roots):
            found.append(WorkspaceProgram(name, Path(os.path.normpath(program))))
        elif version_file := find_version_file(program, directories[name], roots):
            found.append(WorkspaceProgram(name, version_file, is_chosen=True))
    return tuple(found)


def _is_in_workspace(entry: str, roots: Sequence[Path]) -> bool:
    directory = Path(entry)
    # Relative and empty entries mean the working directory.
    if not directory.is_absolute():
        return True
    # Both names count: a link in the workspace could be replaced by a directory.
    places = (directory, directory.resolve())
    return any(place.is_relative_to(root) for place in places for root in roots)
