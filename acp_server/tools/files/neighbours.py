"""What else there is: the entries of a folder, files that may be meant. Everything here blocks."""

import os
from collections import deque
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from acp_server.session.session import Workspace
from acp_server.tools.files.paths import Place

MAX_LISTED = 50
MAX_SIMILAR = 3
MAX_SEEN = 2000
"""How many entries are looked at to find a file that may be meant."""

_DULL_FOLDERS = {"node_modules", "__pycache__", "venv", "target", "dist", "build"}


def entries_of(folder: Path) -> tuple[list[str], int]:
    """Return the first names in a folder, folders with a slash, and how many names it has."""
    names = sorted(f"{entry.name}/" if _is_folder(entry) else entry.name for entry in _scan(folder))
    return names[:MAX_LISTED], len(names)


def similar_files(place: Place, workspace: Workspace) -> list[str]:
    """Return files that may be meant: with a name alike beside it, else of its name elsewhere."""
    folder = place.real.parent
    names = {
        entry.name.casefold(): entry.name
        for entry in islice(_scan(folder), MAX_SEEN)
        if not _is_folder(entry) and entry.name != place.path.name
    }
    close = get_close_matches(place.path.name.casefold(), names, n=MAX_SIMILAR)
    found = [place.path.parent / names[name] for name in close] or _namesakes(place, workspace)
    return [_shown(path, workspace) for path in found]


def _namesakes(place: Place, workspace: Workspace) -> list[Path]:
    wanted = place.path.name.casefold()
    seen = islice(_walk(workspace.cwd), MAX_SEEN)
    found = (path for path in seen if path.name.casefold() == wanted and path != place.path)
    return list(islice(found, MAX_SIMILAR))


def _walk(root: Path) -> Iterator[Path]:
    """Yield the files below a folder, the nearest first; hidden and dull folders are left out."""
    folders = deque([root])
    while folders:
        for entry in _scan(folders.popleft()):
            if not _is_folder(entry):
                yield Path(entry.path)
            elif not entry.name.startswith(".") and entry.name not in _DULL_FOLDERS:
                folders.append(Path(entry.path))


def _scan(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


def _shown(path: Path, workspace: Workspace) -> str:
    is_near = path.is_relative_to(workspace.cwd)
    return str(path.relative_to(workspace.cwd) if is_near else path)
