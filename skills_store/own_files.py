"""Separate a skill's own files from other skills nested in its directory.

A skill's directory can also be the category of other skills. Nothing here follows symlinks; the
only write operation is moving entries.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from skills_store.skill import CATEGORY_FILE, LINKED_FOLDERS, SKILL_FILE
from skills_store.trees import Tree, capture_tree

_MAX_DEPTH = 6
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}")  # named as in `atomic.write_atomically_in`


def own_entries(folder: Path) -> tuple[str, ...]:
    """Return the entries that belong to the skill itself; all of them if no skill is nested."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except FileNotFoundError:
        return ()
    nested = {
        name for name in names if name not in LINKED_FOLDERS and _contains_skill(folder / name)
    }
    if not nested and CATEGORY_FILE not in names:
        return tuple(names)
    # The rest belongs to the category: its description, and hidden directories.
    return tuple(
        name
        for name in names
        if name not in nested
        and name != CATEGORY_FILE
        and not (name.startswith(".") and (folder / name).is_dir())
    )


def has_only_own_entries(folder: Path) -> bool:
    """Return whether a directory contains nothing but the skill's own entries."""
    return len(own_entries(folder)) == sum(1 for _ in folder.iterdir())


def capture_own(folder: Path) -> Tree:
    """Capture a skill's own files, without temporary files of crashed writes.

    Raises:
        OSError: An entry cannot be read.
    """
    names = frozenset(own_entries(folder))
    return capture_tree(
        folder,
        lambda path: (
            path.split("/", 1)[0] not in names
            or _TEMPORARY.fullmatch(path.rsplit("/", 1)[-1]) is not None
        ),
    )


def move_entries(source: Path, target: Path, names: Sequence[str], *, is_archiving: bool) -> None:
    """Move entries to another directory, which is created if needed.

    SKILL.md moves first when a skill leaves and last when it arrives, so no scan finds it in part.
    After a crash each file is in one of the two directories; calling this again completes the move.

    Raises:
        OSError: An entry cannot be moved.
    """
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(names, key=lambda name: (name == SKILL_FILE) is not is_archiving):
        (source / name).rename(target / name)


def _contains_skill(path: Path, level: int = 0) -> bool:
    """Return whether a skill or category is below a directory, at any depth that a scan reaches."""
    if not path.is_dir():
        return False
    if (path / SKILL_FILE).exists() or (path / CATEGORY_FILE).exists():
        return True
    if path.is_symlink() or level >= _MAX_DEPTH:
        return False
    return any(_contains_skill(child, level + 1) for child in path.iterdir())
