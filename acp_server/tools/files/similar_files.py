"""Lists directory entries, and files with similar names for error messages. All calls block."""

from collections import deque
from collections.abc import Iterator
from difflib import get_close_matches
from itertools import islice
from pathlib import Path, PurePath

from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.files.paths import ResolvedPath
from skills_store.pinned_folder import PinnedFolder

MAX_LISTED = 5_000
MAX_SIMILAR = 3
MAX_SCANNED = 2000
"""How many directory entries are read in the search for similar names."""

_SKIPPED_DIRECTORIES = {"node_modules", "__pycache__", "venv", "target", "dist", "build"}


def list_entries(folder: PinnedFolder, name: str) -> tuple[list[str], int]:
    """List a directory inside another.

    Returns the first names, directories with a slash, and the number of all entries.

    Raises:
        OSError: It cannot be read.
    """
    with folder.descend(PurePath(name)) as opened:
        entries = opened.entries()
    names = [f"{each}/" if is_folder else each for each, is_folder in entries]
    return sorted(names)[:MAX_LISTED], len(names)


def find_similar_files(resolved: ResolvedPath, workspace: SessionWorkspace) -> list[str]:
    """Return files that the model may have meant.

    These have a similar name in the same directory; if there are none, the same name elsewhere in
    the workspace.
    """
    folder = resolved.real.parent
    with PinnedFolder.at(Path(folder.anchor)) as top_folder:
        entries = islice(_scan(top_folder, folder.relative_to(folder.anchor)), MAX_SCANNED)
        names = {
            name.casefold(): name
            for name, is_folder in entries
            if not is_folder and name != resolved.path.name
        }
    matches = get_close_matches(resolved.path.name.casefold(), names, n=MAX_SIMILAR)
    similar = [resolved.path.parent / names[name] for name in matches] or _same_name_files(
        resolved, workspace
    )
    cwd = workspace.cwd
    return [str(path.relative_to(cwd) if path.is_relative_to(cwd) else path) for path in similar]


def _same_name_files(resolved: ResolvedPath, workspace: SessionWorkspace) -> list[Path]:
    name = resolved.path.name.casefold()
    with PinnedFolder.at(workspace.cwd) as root:
        paths = (workspace.cwd / path for path in islice(_walk(root), MAX_SCANNED))
        found = (path for path in paths if path.name.casefold() == name and path != resolved.path)
        return list(islice(found, MAX_SIMILAR))


def _walk(root: PinnedFolder) -> Iterator[PurePath]:
    """Yield the files below a directory, breadth first; skip hidden and generated directories."""
    folders = deque([PurePath()])
    while folders:
        folder = folders.popleft()
        for name, is_folder in _scan(root, folder):
            if not is_folder:
                yield folder / name
            elif not name.startswith(".") and name not in _SKIPPED_DIRECTORIES:
                folders.append(folder / name)


def _scan(ancestor: PinnedFolder, folder: PurePath) -> list[tuple[str, bool]]:
    """Return the entries of a directory below another; empty if it cannot be read."""
    try:
        with ancestor.descend(folder) as opened:
            return opened.entries()
    except OSError:
        return []
