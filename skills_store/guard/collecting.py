"""Reads a skill's directory without leaving it; the only module of the guard that reads the disk.

Version control data (`.git`) is not part of a skill and is skipped. A link is read if it leads to a
file of the same directory, and reported otherwise. Only regular files are opened, reads never
block, and size and number of files are limited.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from skills_store.guard.contents import SkillContents

MAX_FILE_BYTES = 1024 * 1024
MAX_TOTAL_BYTES = 8 * 1024 * 1024
MAX_ENTRIES = 1_000
MAX_DEPTH = 12
_FLAGS: int = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_EXECUTE_BITS = 0o111


@dataclass(slots=True)
class _CollectedFiles:
    """Files collected so far, and the remaining byte budget."""

    files: dict[str, bytes] = field(default_factory=dict[str, bytes])
    executables: set[str] = field(default_factory=set[str])
    escapes: list[str] = field(default_factory=list[str])
    specials: list[str] = field(default_factory=list[str])
    unread: list[str] = field(default_factory=list[str])
    bytes_left: int = MAX_TOTAL_BYTES


def collect_skill_files(folder: Path) -> SkillContents:
    """Read the contents of a skill directory. Blocks.

    Entries in the directory never cause an exception: unreadable ones are in `unread_paths`.

    Raises:
        OSError: the directory itself cannot be listed.
    """
    root = folder.resolve(strict=True)
    collected = _CollectedFiles()
    entries = _entries(root, collected)
    for count, path in enumerate(entries):
        name = path.relative_to(root).as_posix()
        if count >= MAX_ENTRIES:
            collected.unread.append("/")
            break
        _collect_entry(root, path, name, collected)
    return SkillContents(
        collected.files,
        frozenset(collected.executables),
        tuple(sorted(collected.escapes)),
        tuple(sorted(collected.specials)),
        tuple(sorted(collected.unread)),
    )


def _entries(root: Path, collected: _CollectedFiles) -> Iterator[Path]:
    """Yield everything except directories, sorted by name per directory; links are not followed."""
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            listed = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            if folder == root:
                raise
            collected.unread.append(f"{folder.relative_to(root).as_posix()}/")
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
                collected.unread.append(f"{path.relative_to(root).as_posix()}/")


def _collect_entry(root: Path, path: Path, name: str, collected: _CollectedFiles) -> None:
    try:
        source = _resolve_inside(root, path) if path.is_symlink() else path
        if source is None:
            collected.escapes.append(name)
            return
        status = source.lstat()
        if not stat.S_ISREG(status.st_mode):
            collected.specials.append(name)
            return
        data = _read_bytes(source, min(MAX_FILE_BYTES, collected.bytes_left))
    except OSError:
        collected.unread.append(name)
        return
    if data is None:
        collected.unread.append(name)
        return
    collected.files[name] = data
    collected.bytes_left -= len(data)
    if status.st_mode & _EXECUTE_BITS:
        collected.executables.add(name)


def _resolve_inside(root: Path, link: Path) -> Path | None:
    """Return the file that a link leads to, or None if it is outside this directory."""
    try:
        target = link.resolve(strict=True)
    except (OSError, RuntimeError):  # Python 3.11 raises RuntimeError for a link loop
        return None
    return target if target.is_relative_to(root) and target.is_file() else None


def _read_bytes(path: Path, max_bytes: int) -> bytes | None:
    """Return a file's content; None if it is too large or no longer a regular file."""
    # The path may have been replaced since lstat: O_NOFOLLOW rejects a link, O_NONBLOCK avoids
    # hanging on a pipe, and fstat checks the file that was actually opened.
    descriptor = os.open(path, _FLAGS | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        data = file.read(max_bytes + 1)
    return data if len(data) <= max_bytes else None
