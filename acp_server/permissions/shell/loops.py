"""The heads of loops: the variable and values of `for`, the variables of `while read`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from acp_server.permissions import reasons
from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.assignments import is_harmless_variable
from acp_server.permissions.shell.command_line import CommandSource
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import iter_commands, iter_nodes, node_text
from acp_server.permissions.shell.scope import UNKNOWN_VALUE, VariableValue
from acp_server.permissions.shell.words import Word

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_VALUES = 40


def read_loop_variable(loop: "Node", source: CommandSource) -> str:
    """Return the name of a loop's variable.

    Raises:
        UndecidableCommand: Programs may read the variable, or the loop has another form.
    """
    kinds = [child.type for child in loop.children if not child.is_named]
    variable = loop.child_by_field_name("variable")
    if kinds[:2] != ["for", "in"] or not set(kinds[2:]) <= {";", "\n"} or variable is None:
        raise UndecidableCommand(reasons.ODD_LOOP)
    name = node_text(variable)
    if not is_harmless_variable(name) or not source.is_whole_word(variable):
        raise UndecidableCommand(reasons.set_variable(name))
    return name


def read_loop_values(
    loop: "Node", access: AccessRecorder, source: CommandSource
) -> tuple[VariableValue, ...]:
    """Return the values of a loop's variable; the matches of a glob count as one value.

    Raises:
        UndecidableCommand: The values are only known at run time, or there are too many.
    """
    nodes = loop.children_by_field_name("value")
    if not nodes or len(nodes) > MAX_VALUES:
        raise UndecidableCommand(reasons.LOOP_VALUES)
    words = [source.expand_word(node, access.scope) for node in nodes]
    for word in words:
        # The shell lists the directory to expand the glob.
        if word.pattern is not None:
            access.record_read(word)
    return tuple(
        VariableValue(word.text, word.pattern) if word.is_known else UNKNOWN_VALUE for word in words
    )


def read_line_variables(words: Sequence[Word]) -> tuple[str, ...]:
    """Return the variables that a `read` in the head of a loop sets, from its words, name first.

    Raises:
        UndecidableCommand: It is no plain `read`.
    """
    if not all(word.is_literal for word in words) or words[0].text != "read":
        raise UndecidableCommand(reasons.REPEATS)
    rest = [word.text for word in words[1:]]
    while rest and rest[0] in {"-r", "-d"}:
        # The delimiter follows.
        del rest[: 2 if rest[0] == "-d" else 1]
    if not rest or not all(map(is_harmless_variable, rest)):
        raise UndecidableCommand(reasons.REPEATS)
    return tuple(rest)


def assigned_names(node: "Node") -> frozenset[str]:
    """Return the names of all variables that a part of a line may set, at any depth."""
    kinds = ("variable_assignment", "for_statement")
    found = [
        each.child_by_field_name("name" if each.type == kinds[0] else "variable")
        for each in iter_nodes(node)
        if each.type in kinds
    ]
    read = [
        node_text(each)
        for command in iter_commands(node)
        if _reads_line(command)
        for each in command.children
    ]
    return frozenset({*(node_text(each) for each in found if each is not None), *read})


def _reads_line(command: "Node") -> bool:
    return any(
        child.type == "command_name" and node_text(child) == "read" for child in command.children
    )
