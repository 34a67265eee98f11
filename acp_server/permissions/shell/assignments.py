"""Assignments before a command: `CI=1 npm test`."""

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from acp_server.permissions import reasons
from acp_server.permissions.shell.command_line import CommandSource
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import node_text
from acp_server.permissions.shell.scope import ShellScope
from acp_server.permissions.shell.words import Word, expand_word
from acp_server.permissions.word_lists import read_word_lists
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from tree_sitter import Node


_PLAIN_NAME = re.compile(r"[a-z][a-z0-9_]*")


@frozen_dataclass
class Assignment:
    """One variable with its value."""

    name: str
    value: Word

    @property
    def is_harmless(self) -> bool:
        """Whether no program runs, loads or reads something else because of it."""
        if self.name in _word_lists()["pagers"]:
            return self.value.is_literal and self.value.text in {"", "cat"}
        if self.name in _word_lists()["warnings"]:
            return self.value.is_literal and self.value.text in _word_lists()["warning_actions"]
        if not _is_listed(self.name, "harmless") or not self.value.is_known:
            return False
        return not _is_listed(self.name, "paths") or not _is_path(self.value.text)

    @property
    def is_refused(self) -> bool:
        """Whether no "always" covers a command with it."""
        return not self.value.is_literal or (
            not self.is_harmless and _is_listed(self.name, "refused")
        )


def read_assignment(node: "Node", source: CommandSource, scope: ShellScope) -> Assignment:
    """Return the assignment of a node.

    Raises:
        UndecidableCommand: It has another form, or its value is uncertain.
    """
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    if name is None or not source.is_whole_word(node):
        raise UndecidableCommand(reasons.ODD_VARIABLE)
    text = "" if value is None else node_text(value)
    # Also refuses `a+=b` and `a[1]=b`.
    if name.type != "variable_name" or node_text(node) != f"{node_text(name)}={text}":
        raise UndecidableCommand(reasons.ODD_VARIABLE)
    if value is None:
        return Assignment(node_text(name), Word(""))
    substitutions = source.judged_substitutions_in(value)
    # The value of an assignment is not split, so a substitution needs no quotes.
    if substitutions.get(0) == len(value.text or b""):
        return Assignment(node_text(name), Word("", is_known=False))
    return Assignment(node_text(name), expand_word(text, scope, substitutions))


def _is_path(text: str) -> bool:
    """Return whether a value may lead out of the directory that the system looks in."""
    # A colon begins a file of a time zone, and separates languages.
    return any(part.startswith("/") or ".." in part.split("/") for part in text.split(":"))


def is_harmless_variable(name: str) -> bool:
    """Return whether no shell and no program of the line reads a variable of this name."""
    # Security: variables that change shells and programs (PATH, IFS) are upper case.
    is_plain = _PLAIN_NAME.fullmatch(name) is not None or name in _word_lists()["plain"]
    return is_plain and not _is_listed(name, "refused")


def _is_listed(name: str, group: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _word_lists()[group])


@cache
def _word_lists() -> Mapping[str, tuple[str, ...]]:
    return read_word_lists(__file__)
