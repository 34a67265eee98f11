"""Extract the words of simple commands from the syntax tree; shared by all analysers.

Finds the words, but does not interpret them.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.grammar import descendants, is_inline_gap, text_of
from acp_server.permissions.shell.scope import Scope
from acp_server.permissions.shell.words import Word, read_word
from acp_server.startup.fast_dataclass import frozen

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
    "variable_assignment": "it sets a variable for a command",
    "process_substitution": "it hands a command to another one as a file",
}
_WORD_ENDS = b" \t\n|&;()<>"


@frozen
class Source:
    """The bytes of the whole command line, which all nodes point into."""

    text: bytes

    def stands_alone(self, node: "Node") -> bool:
        """Return whether bash would also begin and end a word at this node's borders."""
        before = self.text[node.start_byte - 1 : node.start_byte] if node.start_byte else b""
        after = self.text[node.end_byte : node.end_byte + 1]
        escaped = self.text[max(node.start_byte - 2, 0) : node.start_byte - 1] == b"\\"
        return (not before or (before in _WORD_ENDS and (not escaped or before == b"\n"))) and (
            not after or after in _WORD_ENDS
        )

    def word(self, node: "Node", scope: Scope) -> Word:
        """Return the expanded word of a node.

        Raises:
            UndecidableCommand: Its value is unknown, or the grammar splits it where bash would not.
        """
        if node.type in NOT_WORDS or not self.stands_alone(node):
            raise Unclear("it cannot be read unambiguously")
        return read_word(text_of(node), scope, _substitutions_in(node))


def _substitutions_in(node: "Node") -> Mapping[int, int]:
    text = node.text or b""
    if b"$(" not in text or not text.isascii():
        return {}
    found = substitution_nodes(node)
    return {each.start_byte - node.start_byte: each.end_byte - node.start_byte for each in found}


def substitution_nodes(node: "Node") -> Iterator["Node"]:
    """Yield the outermost `$(...)` within a word, not backquotes."""
    for found in descendants(node, "command_substitution"):
        if text_of(found).startswith("$("):
            yield found


def words_of(command: "Node", source: Source, besides: Sequence["Node"] = ()) -> tuple["Node", ...]:
    """Return the nodes of a command's words, name first, without the `excluded` nodes.

    Raises:
        UndecidableCommand: There is something else than blanks between or among them.
    """
    # Security: tree-sitter's grammar differs from bash in details. Bytes that belong to no node
    # would escape the analysis.
    for left, right in pairwise(command.children):
        between = source.text[left.end_byte : right.start_byte]
        if not between or not is_inline_gap(between):
            raise Unclear("it cannot be read unambiguously")
    nodes = tuple(child for child in command.children if child not in besides)
    for node in nodes:
        if node.type in NOT_WORDS:
            raise Unclear(_REASONS.get(node.type, "it cannot be read unambiguously"))
    return nodes
