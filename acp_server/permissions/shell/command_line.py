"""Extract the words of simple commands from the syntax tree; shared by all analysers.

Finds the words, but does not interpret them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from typing import TYPE_CHECKING

from acp_server.permissions import reasons
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.grammar import is_inline_gap, iter_descendants, node_text
from acp_server.permissions.shell.scope import ShellScope
from acp_server.permissions.shell.words import Word, expand_word
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from tree_sitter import Node

NOT_WORDS = frozenset(
    {
        "variable_assignment",
        "file_redirect",
        "heredoc_redirect",
        "herestring_redirect",
        "process_substitution",
        "comment",
        "ERROR",
    }
)
_REASONS = {
    "variable_assignment": reasons.COMMAND_VARIABLE,
    "process_substitution": reasons.OUTPUT_AS_FILE,
}
_WORD_ENDS = b" \t\n|&;()<>"


@frozen_dataclass
class CommandSource:
    """The bytes of the whole command line, which all nodes point into."""

    text: bytes
    judged_substitutions: set[int] = field(default_factory=set[int])
    """Where each `$(` begins whose commands were judged; a word may hold no other ones."""

    def is_whole_word(self, node: "Node") -> bool:
        """Return whether bash would also begin and end a word at this node's borders."""
        before = self.text[node.start_byte - 1 : node.start_byte] if node.start_byte else b""
        after = self.text[node.end_byte : node.end_byte + 1]
        # An escaped blank belongs to the word; an escaped newline joins lines, so it may end one.
        escaped = self.text[max(node.start_byte - 2, 0) : node.start_byte - 1] == b"\\"
        return (not before or (before in _WORD_ENDS and (not escaped or before == b"\n"))) and (
            not after or after in _WORD_ENDS
        )

    def expand_word(self, node: "Node", scope: ShellScope) -> Word:
        """Return the expanded word of a node.

        Raises:
            UndecidableCommand: Its value is unknown, or the grammar splits it where bash would not.
        """
        if node.type in NOT_WORDS or not self.is_whole_word(node):
            raise UndecidableCommand(reasons.AMBIGUOUS)
        return expand_word(node_text(node), scope, self.judged_substitutions_in(node))

    def judged_substitutions_in(self, node: "Node") -> Mapping[int, int]:
        """Return where each `$(` whose commands were judged begins and ends in a word."""
        text = node.text or b""
        # Node offsets count bytes, the scanner counts characters: they agree in ASCII only.
        if b"$(" not in text or not text.isascii():
            return {}
        return {
            found.start_byte - node.start_byte: found.end_byte - node.start_byte
            for found in iter_substitutions(node)
            if found.start_byte in self.judged_substitutions
        }


def iter_substitutions(node: "Node") -> Iterator["Node"]:
    """Yield the outermost `$(...)` within a word, not backquotes."""
    found_nodes = (
        iter([node])
        if node.type == "command_substitution"
        else iter_descendants(node, "command_substitution")
    )
    for found in found_nodes:
        # In backquotes bash removes backslashes before it parses; the tree inside may be wrong.
        if node_text(found).startswith("$("):
            yield found


def collect_words(
    command: "Node",
    source: CommandSource,
    excluded: Sequence["Node"] = (),
    allowed: Sequence["Node"] = (),
) -> tuple["Node", ...]:
    """Return the nodes of a command's words, name first, without the `excluded` nodes.

    The `allowed` nodes are words that the caller judges.

    Raises:
        UndecidableCommand: There is something else than blanks between or among them.
    """
    # Security: tree-sitter's grammar differs from bash in details. Bytes that belong to no node
    # would escape the analysis.
    for left, right in pairwise(command.children):
        between = source.text[left.end_byte : right.start_byte]
        if not between or not is_inline_gap(between):
            raise UndecidableCommand(reasons.AMBIGUOUS)
    nodes = tuple(child for child in command.children if child not in excluded)
    for node in nodes:
        if node.type in NOT_WORDS and node not in allowed:
            raise UndecidableCommand(_REASONS.get(node.type, reasons.AMBIGUOUS))
    return nodes
