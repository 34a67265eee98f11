"""A skill's folder may be a category of other skills too: what in it is the skill's own.

Nothing here goes through links, and nothing is written but by moving what is there.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from skills_store.skill import CATEGORY_FILE, LINKED_FOLDERS, SKILL_FILE
from skills_store.trees import Tree, capture

_MOST_LEVELS = 6
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}")  # as `atomic` names them


def own_names(folder: Path) -> tuple[str, ...]:
    """Return the entries of a skill's folder that are its own; all of them in a plain one."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return ()
    others = {name for name in names if name not in LINKED_FOLDERS and _holds_skill(folder / name)}
    if not others and CATEGORY_FILE not in names:
        return tuple(names)
    return tuple(name for name in names if name not in others and _is_own(folder / name))


def is_only_skill(folder: Path) -> bool:
    """Say whether all that is in a folder is the skill's own."""
    return len(own_names(folder)) == sum(1 for _ in folder.iterdir())


def capture_own(folder: Path) -> Tree:
    """Return what a skill's folder holds of its own, without what a crash left half written.

    Raises:
        OSError: something in it cannot be read.
    """
    names = frozenset(own_names(folder))
    return capture(folder, lambda path: path.split("/", 1)[0] not in names or _is_litter(path))


def move_entries(source: Path, target: Path, names: Sequence[str], *, is_leaving: bool) -> None:
    """Move entries from one folder to another, which is made if need be.

    The SKILL.md goes first when a skill is leaving and last when it comes: it is never seen in
    part. A crash leaves every file in one of the two folders; doing it again ends it.

    Raises:
        OSError: something cannot be moved.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(names, key=lambda name: (name == SKILL_FILE) is not is_leaving):
        (source / name).rename(target / name)


def _is_own(path: Path) -> bool:
    """Say whether an entry of a category that is a skill too is the skill's, not the category's."""
    return path.name != CATEGORY_FILE and not (path.name.startswith(".") and path.is_dir())


def _is_litter(path: str) -> bool:
    """Say whether a file is named like those that are made to be renamed over another."""
    return _TEMPORARY.fullmatch(path.rsplit("/", 1)[-1]) is not None


def _holds_skill(path: Path, level: int = 0) -> bool:
    """Say whether a skill or a category is in a folder, however deep a scan would find it."""
    if not path.is_dir():
        return False
    if (path / SKILL_FILE).exists() or (path / CATEGORY_FILE).exists():
        return True
    if path.is_symlink() or level >= _MOST_LEVELS:
        return False
    return any(_holds_skill(child, level + 1) for child in path.iterdir())
