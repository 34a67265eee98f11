"""The head of a `for` loop: its variable and values."""

import re
from typing import TYPE_CHECKING

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.command_line import CommandSource
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import node_text
from acp_server.permissions.shell.scope import VariableValue

if TYPE_CHECKING:
    from tree_sitter import Node

MAX_VALUES = 40

# Security: lower case only. Variables that change shells and programs (PATH, IFS) are upper case.
_HARMLESS_NAME = re.compile(r"[a-z][a-z0-9_]*")


def read_loop_variable(loop: "Node", source: CommandSource) -> str:
    """Return the name of a loop's variable.

    Raises:
        UndecidableCommand: Programs may read the variable, or the loop has another form.
    """
    kinds = [child.type for child in loop.children if not child.is_named]
    variable = loop.child_by_field_name("variable")
    if kinds[:2] != ["for", "in"] or not set(kinds[2:]) <= {";", "\n"} or variable is None:
        raise UndecidableCommand("its loop is of a form that is not known")
    name = node_text(variable)
    if _HARMLESS_NAME.fullmatch(name) is None or not source.is_whole_word(variable):
        raise UndecidableCommand(f"its loop sets {name}")
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
        raise UndecidableCommand("its loop has no values, or too many")
    words = [source.expand_word(node, access.scope) for node in nodes]
    for word in words:
        if not word.is_known:
            raise UndecidableCommand("the values of its loop are only known when it runs")
        # The shell lists the directory to expand the glob.
        if word.pattern is not None:
            access.record_read(word)
    return tuple(VariableValue(word.text, word.pattern) for word in words)
