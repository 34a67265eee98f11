"""Assignments before a command: `CI=1 npm test`."""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import TYPE_CHECKING

from acp_server.permissions.shell.command_line import CommandSource
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import node_text
from acp_server.permissions.shell.scope import ShellScope
from acp_server.permissions.shell.words import Word, expand_word
from acp_server.permissions.word_lists import read_word_lists
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from tree_sitter import Node


@frozen_dataclass
class Assignment:
    """One variable with its value."""

    name: str
    value: Word

    @property
    def is_harmless(self) -> bool:
        """Whether no program runs, loads or reads something else because of it."""
        if self.name in _name_patterns()["pagers"]:
            return self.value.is_literal and self.value.text in {"", "cat"}
        return _is_listed(self.name, "harmless") and self.value.is_known

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
        raise UndecidableCommand("it sets a variable in a form that is not known")
    text = "" if value is None else node_text(value)
    # Also refuses `a+=b` and `a[1]=b`.
    if name.type != "variable_name" or node_text(node) != f"{node_text(name)}={text}":
        raise UndecidableCommand("it sets a variable in a form that is not known")
    if value is None:
        return Assignment(node_text(name), Word(""))
    substitutions = source.judged_substitutions_in(value)
    # The value of an assignment is not split, so a substitution needs no quotes.
    if substitutions.get(0) == len(value.text or b""):
        return Assignment(node_text(name), Word("", is_known=False))
    return Assignment(node_text(name), expand_word(text, scope, substitutions))


def _is_listed(name: str, group: str) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in _name_patterns()[group])


@cache
def _name_patterns() -> Mapping[str, tuple[str, ...]]:
    return read_word_lists(__file__)
