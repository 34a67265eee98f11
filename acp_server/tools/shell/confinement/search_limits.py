"""Sandbox limits for our own searches: the directory that was checked and nothing else.

In addition only the ignore files above it and the libraries of the search program. Security: if a
symlink takes the place of the directory after the check, the search reads nothing through it.
"""

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from acp_server.tools.shell.confinement.limits import SandboxLimits, find_git_directory

_LIBRARIES = tuple(
    Path(name)
    for name in (
        *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"),
        *("/etc/ld.so.cache", "/nix/store", "/gnu/store"),
        *("/System", "/private/var/db/dyld", "/opt/homebrew"),
    )
)
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
# The parts of a repository that hold ignore rules, not its objects or its configuration.
_GIT_IGNORE_PARTS = ("info", "worktrees")


def build_search_limits(root: Path, program: Path, hidden: Iterable[Path]) -> SandboxLimits:
    """Return the limits for a program that searches `root`, a path without symlinks. Blocks.

    `hidden` paths below the root stay unreadable.
    """
    readable = (
        root,
        program.resolve(),
        *_existing_without_symlinks((*_LIBRARIES, *_ignore_files(root))),
    )
    hidden_below = tuple(path for path in hidden if path != root and path.is_relative_to(root))
    return SandboxLimits(writable=(), hidden=hidden_below, readable=readable, has_network=True)


def _ignore_files(root: Path) -> Iterator[Path]:
    for folder in root.parents:
        yield from (folder / name for name in _IGNORE_FILES)
        pointer = folder / ".git"
        if pointer.is_file():
            yield pointer
    git_directory = find_git_directory(root)
    if git_directory is not None:
        yield from (git_directory / name for name in _GIT_IGNORE_PARTS)


def _existing_without_symlinks(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield existing paths that are no symlinks: the target of a symlink was not checked."""
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            yield path
