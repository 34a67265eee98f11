"""Scope of a command: its possible working directories and the known variables.

A `cd` may fail, so there can be several directories; a path is then read from each. Symlinks are
unknown here: `..` after a name is reported both as written and normalised, because either may be
right.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import field, replace

from acp_server.permissions import reasons
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_DIRECTORIES = 8

_DOTDOT_AFTER_NAME = re.compile(r"(?:^|/)(?!\.{1,2}(?:/|$))[^/]+/+(?:\./+)*\.\.(?:/|$)")


@frozen_dataclass
class VariableValue:
    """Value of a variable: a text, a name matched by a glob, or one of several file names."""

    text: str
    pattern: str | None = None
    is_known: bool = True
    """Whether it is known before the line runs."""
    is_file_name: bool = False
    """Whether it is the name of any file below the directory `text`."""


UNKNOWN_VALUE = VariableValue("", is_known=False)


@frozen_dataclass
class ShellScope:
    """Where one command runs."""

    start_directory: str
    """The directory in which the whole command line begins, symlinks resolved."""
    directories: tuple[str, ...]
    home: str | None
    values: Mapping[str, VariableValue] = field(default_factory=dict[str, VariableValue])
    has_input: bool = False
    """Whether standard input is text of the command line: a pipe, a file or a here-document."""
    input_hosts: tuple[str, ...] = ()
    """The hosts from which the programs before a pipe download it, as far as known."""

    def with_directories(self, folders: tuple[str, ...]) -> "ShellScope":
        """Return the same scope in other directories.

        Raises:
            UndecidableCommand: There are too many of them.
        """
        if len(folders) > MAX_DIRECTORIES:
            raise UndecidableCommand(reasons.TOO_MANY_FOLDERS)
        return replace(self, directories=folders)

    def with_values(self, values: Mapping[str, VariableValue]) -> "ShellScope":
        """Return the same scope with more variables."""
        return replace(self, values={**self.values, **values}) if values else self

    def with_input(self, hosts: tuple[str, ...] = ()) -> "ShellScope":
        """Return the same scope with an input, which may be downloaded from these hosts."""
        return replace(self, has_input=True, input_hosts=hosts)

    def resolve_paths(self, text: str) -> tuple[str, ...]:
        """Return the absolute paths that a word may name, each once."""
        found = (path for folder in self.directories for path in self._paths_from(folder, text))
        return tuple(dict.fromkeys(found))

    def _paths_from(self, folder: str, text: str) -> tuple[str, ...]:
        joined = posixpath.join(folder, text)
        normal = normalize_path(joined)
        is_climbing = (
            ".." in text.split("/") and folder != self.start_directory and not text.startswith("/")
        )
        # Security: the kernel resolves `link/..` to the parent of the link's target, `cd`
        # lexically. Report both paths, so that the gate checks both.
        if is_climbing or has_dotdot_after_name(text):
            parts = [part for part in joined.split("/") if part not in {"", "."}]
            return ("/" + "/".join(parts), normal)
        return (normal,)


def normalize_path(path: str) -> str:
    """Return a path without `.`, `..` and double slashes, lexically: symlinks are not resolved."""
    normal = posixpath.normpath(path)
    # POSIX lets `//x` differ from `/x`; Linux and macOS treat them alike.
    return normal[1:] if normal.startswith("//") else normal


def has_dotdot_after_name(text: str) -> bool:
    """Return whether `..` follows a name in a path; that name may be a symlink."""
    return _DOTDOT_AFTER_NAME.search(text) is not None


def merge_directories(*groups: tuple[str, ...]) -> tuple[str, ...]:
    """Return the directories of all groups, each once."""
    return tuple(dict.fromkeys(folder for group in groups for folder in group))
