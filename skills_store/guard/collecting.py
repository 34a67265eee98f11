"""Reads a skill's directory without leaving it; the only module of the guard that reads the disk.

Version control data (`.git`) is not part of a skill and is skipped. A link is read if it leads to a
file of the same directory, and reported otherwise. Only regular files are opened, reads never
block, and size and number of files are limited.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from skills_store.guard.contents import SkillContents
from skills_store.reading import NO_FOLLOW, read_regular

MAX_FILE_BYTES = 1024 * 1024
MAX_TOTAL_BYTES = 8 * 1024 * 1024
MAX_ENTRIES = 1_000
MAX_DEPTH = 12
_EXECUTE_BITS = 0o111


def collect_skill_files(folder: Path) -> SkillContents:
    """Read the contents of a skill directory. Blocks.

    Entries in the directory never cause an exception: unreadable ones are in `unread_paths`.

    Raises:
        OSError: the directory itself cannot be listed.
    """
    root = folder.resolve(strict=True)
    files: dict[str, bytes] = {}
    executables: set[str] = set()
    escapes, specials, unread = list[str](), list[str](), list[str]()
    bytes_left = MAX_TOTAL_BYTES
    for count, path in enumerate(_entries(root, unread)):
        name = path.relative_to(root).as_posix()
        if count >= MAX_ENTRIES:
            unread.append("/")
            break
        try:
            source = _resolve_inside(root, path) if path.is_symlink() else path
            if source is None:
                escapes.append(name)
                continue
            mode = source.lstat().st_mode
            if not stat.S_ISREG(mode):
                specials.append(name)
                continue
            # The path may have been replaced since lstat: links and pipes are refused again.
            content = read_regular(source, min(MAX_FILE_BYTES, bytes_left), NO_FOLLOW)
            data = content.data if content.is_complete else None
        except OSError:
            data, mode = None, 0
        if data is None:
            unread.append(name)
            continue
        files[name] = data
        bytes_left -= len(data)
        if mode & _EXECUTE_BITS:
            executables.add(name)
    return SkillContents(
        files,
        frozenset(executables),
        tuple(sorted(escapes)),
        tuple(sorted(specials)),
        tuple(sorted(unread)),
    )


def _entries(root: Path, unread: list[str]) -> Iterator[Path]:
    """Yield everything except directories, sorted by name per directory; links are not followed.

    Directories that are unreadable or too deep are added to `unread`.
    """
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            listed = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            if folder == root:
                raise
            unread.append(f"{folder.relative_to(root).as_posix()}/")
            continue
        for entry in listed:
            path = Path(entry.path)
            if entry.name == ".git":
                continue
            if not entry.is_dir(follow_symlinks=False):
                yield path
            elif depth < MAX_DEPTH:
                waiting.append((path, depth + 1))
            else:
                unread.append(f"{path.relative_to(root).as_posix()}/")


def _resolve_inside(root: Path, link: Path) -> Path | None:
    """Return the file that a link leads to, or None if it is outside this directory."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # Python 3.11 raises RuntimeError for a link loop
        return None
    return target if target.is_relative_to(root) and target.is_file() else None
