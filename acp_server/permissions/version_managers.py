"""Shims of version managers: a file of the workspace chooses the program that they run.

`.tool-versions` and its like may name a program of the workspace (`python path:./mine`), so even
`python --version` may run it. All calls block.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

_SHIM_DIRECTORY = "shims"
_VERSION_FILES = (
    *(".tool-versions", ".python-version", ".python-versions", ".ruby-version", ".node-version"),
    *(".nvmrc", ".go-version", ".java-version", ".prototools", ".rtx.toml"),
    *(".mise/config.toml", "mise/config.toml", ".config/mise.toml", ".config/mise/config.toml"),
)
_MISE_PREFIXES = ("mise.", ".mise.")
_RYE_FILE = "pyproject.toml"


def is_version_file(path: Path) -> bool:
    """Return whether a path is named like a file that chooses versions of programs."""
    return path.name in {*map(os.path.basename, _VERSION_FILES), _RYE_FILE} or _is_mise(path.name)


def find_version_file(
    program: Path, directories: Iterable[Path], roots: Sequence[Path]
) -> Path | None:
    """Return the file of the workspace that chooses what a shim runs in one of the directories.

    None if the program is no shim, or if there is no such file.
    """
    places = (program.parent, program.resolve().parent)
    if not any(place.name == _SHIM_DIRECTORY for place in places):
        return None
    is_of_rye = any(place.parent.name == ".rye" for place in places)
    names = (*_VERSION_FILES, _RYE_FILE) if is_of_rye else _VERSION_FILES
    for directory in directories:
        for folder in (directory, *directory.parents):
            if not any(folder.is_relative_to(root) for root in roots):
                break
            found = _find_in(folder, names)
            if found is not None:
                return found
    return None


def _find_in(folder: Path, names: Iterable[str]) -> Path | None:
    for name in names:
        # A link counts wherever it leads.
        if os.path.lexists(folder / name):
            return folder / name
    try:
        return next((each for each in folder.iterdir() if _is_mise(each.name)), None)
    except OSError:
        return None


def _is_mise(name: str) -> bool:
    return name.startswith(_MISE_PREFIXES) and name.endswith(".toml")
