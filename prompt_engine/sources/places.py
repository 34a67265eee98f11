"""Where a session works: the repository around a folder, and what a path is called there."""

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

_REMEMBERED = 4_096
_UNPRINTABLE = re.compile(r'[\x00-\x1f\x7f-\x9f"<>\u2028\u2029\ufffd]')


def git_root(folder: Path) -> Path | None:
    """Return the nearest folder, from a resolved one upwards, that holds `.git`; else None.

    A file of that name counts too: worktrees and submodules have one. Git is not asked.
    """
    marks = ((each, each / ".git") for each in (folder, *folder.parents))
    return next((each for each, mark in marks if is_folder(mark) or is_file(mark)), None)


@lru_cache(maxsize=_REMEMBERED)
def children(folder: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """Return paths of names in a folder. Remembered: joining paths costs more than looking."""
    return tuple(folder / name for name in names)


@lru_cache(maxsize=_REMEMBERED)
def chain(top: Path, folder: Path) -> tuple[Path, ...]:
    """Return the folders from `top` down to `folder`, both included."""
    above = [each for each in folder.parents if each.is_relative_to(top)]
    return (*reversed(above), folder)


def label(path: Path, home: Path) -> str:
    """Return what a path is called in a session that works in `home`; both are resolved.

    Relative below it, else absolute: so it names one file, and tools find it by that name. A name
    that could leave its line or its quotes is written with escapes.
    """
    name = slashed(path, home) if path.is_relative_to(home) else _decodable(path.as_posix())
    return _UNPRINTABLE.sub(lambda match: f"%{ord(match[0]):02X}", name)


def slashed(path: Path, folder: Path) -> str:
    """Return a path relative to a folder around it, with `/`, and never undecodable."""
    return _decodable(path.as_posix()[len(folder.as_posix()) :].removeprefix("/") or ".")


def is_folder(path: Path) -> bool:
    """Whether a path leads to a folder; one that cannot be looked at does not."""
    return stat.S_ISDIR(_mode(path))


def is_file(path: Path) -> bool:
    """Whether a path leads to a regular file; one that cannot be looked at does not."""
    return stat.S_ISREG(_mode(path))


def _mode(path: Path) -> int:
    """Return a path's kind; 0 where Path's own questions would raise: no permission, too long."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _decodable(name: str) -> str:
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")
