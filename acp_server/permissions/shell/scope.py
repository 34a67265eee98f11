"""Where a command stands: the folders it may be in by then, and the variables whose value is known.

A `cd` may fail, so there can be several folders; a path is then read from each of them. Links are
not known here: `..` behind a name is reported as written and as normalised, for both occur.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import field, replace

from acp_server.frozen import frozen
from acp_server.permissions.shell.findings import Unclear

MAX_FOLDERS = 8

_CLIMBS_BACK = re.compile(r"(?:^|/)(?!\.{1,2}(?:/|$))[^/]+/+(?:\./+)*\.\.(?:/|$)")


@frozen
class Value:
    """What a loop's variable holds: a text, or a name picked by a pattern."""

    text: str
    pattern: str | None = None


@frozen
class Scope:
    """The surroundings of one command."""

    start: str
    """The folder the whole command line begins in; links in it are resolved."""
    folders: tuple[str, ...]
    home: str | None
    values: Mapping[str, Value] = field(default_factory=dict[str, Value])

    def moved(self, folders: tuple[str, ...]) -> "Scope":
        """Return the same surroundings, seen from other folders.

        Raises:
            Unclear: there are too many of them.
        """
        if len(folders) > MAX_FOLDERS:
            raise Unclear("it changes the folder too often to be followed")
        return replace(self, folders=folders)

    def with_value(self, name: str, value: Value) -> "Scope":
        """Return the same surroundings with a variable."""
        return replace(self, values={**self.values, name: value})

    def paths(self, text: str) -> tuple[str, ...]:
        """Return the absolute paths that a word may name, each once."""
        found = (path for folder in self.folders for path in self._paths_from(folder, text))
        return tuple(dict.fromkeys(found))

    def _paths_from(self, folder: str, text: str) -> tuple[str, ...]:
        written = posixpath.join(folder, text)
        normal = normalised(written)
        climbs = ".." in text.split("/") and folder != self.start and not text.startswith("/")
        if climbs or climbs_back(text):
            parts = [part for part in written.split("/") if part not in {"", "."}]
            return ("/" + "/".join(parts), normal)
        return (normal,)


def normalised(path: str) -> str:
    """Return a path without `.`, `..` and doubled slashes, as text: links are not looked at."""
    normal = posixpath.normpath(path)
    return normal[1:] if normal.startswith("//") else normal


def climbs_back(text: str) -> bool:
    """Whether `..` follows a name in a path; that name may be a link to elsewhere."""
    return _CLIMBS_BACK.search(text) is not None


def union(*groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders of all groups, each once."""
    return tuple(dict.fromkeys(folder for group in groups for folder in group))
