"""Path helpers: git root, directory chains, and path labels for the model."""

import os
import re
import stat
from functools import lru_cache
from pathlib import Path

_CACHE_SIZE = 4_096
_UNPRINTABLE = re.compile(r'[\x00-\x1f\x7f-\x9f"<>\u2028\u2029\ufffd]')


def git_root(folder: Path) -> Path | None:
    """Return the nearest directory, from a resolved one upwards, that contains `.git`; else None.

    A `.git` file counts too: worktrees and submodules have one. Git is not run.
    """
    candidates = ((each, each / ".git") for each in (folder, *folder.parents))
    return next(
        (each for each, git_path in candidates if is_directory(git_path) or is_file(git_path)), None
    )


@lru_cache(maxsize=_CACHE_SIZE)
def child_paths(folder: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """Return the paths of names in a directory. Cached: joining paths costs more than stat."""
    return tuple(folder / name for name in names)


@lru_cache(maxsize=_CACHE_SIZE)
def directory_chain(top: Path, folder: Path) -> tuple[Path, ...]:
    """Return the directories from `top` down to `folder`, inclusive."""
    parents = [each for each in folder.parents if each.is_relative_to(top)]
    return (*reversed(parents), folder)


def path_label(path: Path, home: Path) -> str:
    """Return the label of a path in a session that works in `home`; both are resolved.

    Relative below `home`, else absolute, so that it identifies one file and tools can open it.
    Characters that could break out of the line or its quotes are percent-encoded.
    """
    name = posix_relative(path, home) if path.is_relative_to(home) else _decodable(path.as_posix())
    return _UNPRINTABLE.sub(lambda match: f"%{ord(match[0]):02X}", name)


def posix_relative(path: Path, folder: Path) -> str:
    """Return a path relative to a directory that contains it, with `/` and always decodable."""
    return _decodable(path.as_posix()[len(folder.as_posix()) :].removeprefix("/") or ".")


def normalize(path: Path) -> Path:
    """Return a path without `.` and `..`. Links are not followed."""
    return Path(os.path.normpath(path))


def is_directory(path: Path) -> bool:
    """Return whether the path is a directory; False if it cannot be examined."""
    return stat.S_ISDIR(_mode(path))


def is_file(path: Path) -> bool:
    """Return whether the path is a regular file; False if it cannot be examined."""
    return stat.S_ISREG(_mode(path))


def _mode(path: Path) -> int:
    """Return the file mode; 0 where `Path` methods would raise: no permission, name too long."""
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _decodable(name: str) -> str:
    return name if name.isascii() else os.fsencode(name).decode("utf-8", "replace")
