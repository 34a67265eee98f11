"""Scope of a command: its possible working directories and the known variables.

A `cd` may fail, so there can be several directories; a path is then read from each. Symlinks are
unknown here: `..` after a name is reported both as written and normalised, because either may be
right.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import field, replace

from acp_server.permissions.shell.findings import Unclear
from acp_server.startup.fast_dataclass import frozen

MAX_FOLDERS = 8

_CLIMBS_BACK = re.compile(r"(?:^|/)(?!\.{1,2}(?:/|$))[^/]+/+(?:\./+)*\.\.(?:/|$)")


@frozen
class Value:
    """Value of a loop variable: a text, or a name matched by a glob."""

    text: str
    pattern: str | None = None


@frozen
class Scope:
    """Where one command runs."""

    start: str
    """The directory in which the whole command line begins, symlinks resolved."""
    folders: tuple[str, ...]
    home: str | None
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])

    def moved(self, folders: tuple[str, ...]) -> "Scope":
        """Return the same scope in other directories.

        Raises:
            UndecidableCommand: There are too many of them.
        """
        if len(folders) > MAX_FOLDERS:
            raise Unclear("it changes the folder too often to be followed")
        return replace(self, folders=folders)

    def with_value(self, name: str, value: Value) -> "Scope":
        """Return the same scope with a variable."""
        return replace(self, values={**self.values, name: value})

    def paths(self, text: str) -> tuple[str, ...]:
        """Return the absolute paths that a word may name, each once."""
        found = (path for folder in self.folders for path in self._paths_from(folder, text))
        return tuple(dict.fromkeys(found))

    def _paths_from(self, folder: str, text: str) -> tuple[str, ...]:
        written = posixpath.join(folder, text)
        normal = normalised(written)
        climbs = ".." in text.split("/") and folder != self.start and not text.startswith("/")
        # Security: the kernel resolves `link/..` to the parent of the link's target, `cd`
        # lexically. Report both paths, so that the gate checks both.
        if climbs or climbs_back(text):
            parts = [part for part in written.split("/") if part not in {"", "."}]
            return ("/" + "/".join(parts), normal)
        return (normal,)


def normalised(path: str) -> str:
    """Return a path without `.`, `..` and double slashes, lexically: symlinks are not resolved."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def climbs_back(text: str) -> bool:
    """Return whether `..` follows a name in a path; that name may be a symlink."""
    return _CLIMBS_BACK.search(text) is not None


def union(*groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the directories of all groups, each once."""
    return tuple(dict.fromkeys(folder for group in groups for folder in group))
