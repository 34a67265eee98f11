"""What a search of ours may read: the folder that was looked at, whatever takes its name by then.

Besides that only the ignore files above it, and what the searching program itself needs.
"""

import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from acp_server.tools.shell.confinement.bounds import Bounds, git_store

_LIBRARIES = tuple(
    Path(name)
    for name in (
        *("/lib", "/lib32", "/lib64", "/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib"),
        *("/etc/ld.so.cache", "/nix/store", "/gnu/store"),
        *("/System", "/private/var/db/dyld", "/opt/homebrew"),
    )
)
_IGNORE_FILES = (".gitignore", ".ignore", ".rgignore", ".git/info/exclude")
_OF_A_STORE = ("info", "worktrees")


def reading_bounds(root: Path, program: Path, hidden: Iterable[Path]) -> Bounds:
    """Return what a program may read that searches a root, a path without links. It blocks.

    `hidden` is left out where it lies below the root.
    """
    readable = (root, program.resolve(), *_plain((*_LIBRARIES, *_ignore_files(root))))
    below = tuple(path for path in hidden if path != root and path.is_relative_to(root))
    return Bounds(writable=(), hidden=below, readable=readable, has_network=True)


def _ignore_files(root: Path) -> Iterator[Path]:
    for folder in root.parents:
        yield from (folder / name for name in _IGNORE_FILES)
        pointer = folder / ".git"
        if pointer.is_file():
            yield pointer
    store = git_store(root)
    if store is not None:
        yield from (store / name for name in _OF_A_STORE)


def _plain(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield what is there and no link: what a link leads to was not looked at."""
    for path in paths:
        try:
            mode = path.lstat().st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
            yield path
