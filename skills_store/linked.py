"""List the support files of a skill by name, sorted, without opening them."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skills_store.discovery import is_ignored_directory
from skills_store.skill import CATEGORY_FILE, LINKED_FOLDERS, SKILL_FILE

MAX_LISTED = 200
"""Limit of listed files per directory."""
MAX_EXAMINED = 5_000
MAX_DEPTH = 6

_SYSTEM_FILES = frozenset({".DS_Store", "Thumbs.db", "desktop.ini"})


@dataclass(frozen=True, slots=True)
class LinkedFiles:
    """Support files of a skill. Paths are relative to its directory, with slashes, sorted."""

    by_folder: Mapping[str, tuple[str, ...]]
    """Files of references, templates, scripts and assets; each key exists, even if empty."""
    others: tuple[str, ...] = ()
    """Files elsewhere in the directory, except hidden ones."""
    omitted: int = 0
    """Number of further files that are not listed."""

    def all(self) -> tuple[str, ...]:
        """Return all paths, those of the four directories first."""
        listed = [path for paths in self.by_folder.values() for path in paths]
        return (*listed, *self.others)


def linked_files(folder: Path) -> LinkedFiles:
    """List the files of a skill's directory, without those of nested skills."""
    found: dict[str, list[str]] = {name: [] for name in (*LINKED_FOLDERS, "")}
    for number, path in enumerate(_files(folder, "", 0)):
        if number >= MAX_EXAMINED:
            break
        top, separator, _ = path.partition("/")
        found[top if separator and top in LINKED_FOLDERS else ""].append(path)
    omitted = sum(max(0, len(paths) - MAX_LISTED) for paths in found.values())
    listed = {name: tuple(sorted(paths)[:MAX_LISTED]) for name, paths in found.items()}
    return LinkedFiles({name: listed[name] for name in LINKED_FOLDERS}, listed[""], omitted)


def _files(folder: Path, prefix: str, level: int) -> Iterator[str]:
    """Yield the files below a directory; links to directories are not followed."""
    try:
        with os.scandir(folder / prefix) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = f"{prefix}{entry.name}"
        if entry.is_dir(follow_symlinks=False):
            if level < MAX_DEPTH and _belongs_to_skill(folder, path):
                yield from _files(folder, f"{path}/", level + 1)
        elif _is_listed(folder, path, entry):
            yield path


def _belongs_to_skill(folder: Path, path: str) -> bool:
    """Return whether a directory belongs to the skill and is no category or skill itself."""
    top, name = path.split("/", maxsplit=1)[0], path.rpartition("/")[2]
    if is_ignored_directory(name):
        return False
    if top in LINKED_FOLDERS:
        return True
    directory = folder / path
    return not (
        name.startswith(".")
        or (directory / SKILL_FILE).exists()
        or (directory / CATEGORY_FILE).exists()
    )


def _is_listed(folder: Path, path: str, entry: os.DirEntry[str]) -> bool:
    """Return whether a file belongs to the skill; the target of a link must be inside it."""
    top, separator, _ = path.partition("/")
    is_hidden = entry.name.startswith(".") and not (separator and top in LINKED_FOLDERS)
    if is_hidden or entry.name in _SYSTEM_FILES or path in {SKILL_FILE, CATEGORY_FILE}:
        return False
    try:
        if entry.is_symlink() and not Path(entry).resolve().is_relative_to(folder.resolve()):
            return False
        return entry.is_file()
    except (OSError, RuntimeError):  # a link loop raises either, depending on the Python version
        return False
