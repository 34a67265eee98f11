"""Bash grammar: parse a command line into a syntax tree.

The only module that imports tree-sitter, at the first command (25 ms). Covers syntax; the effects
of commands are analysed elsewhere.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Language, Node, Parser

_INLINE_GAP = re.compile(rb"(?:[ \t](?:\\\n)?)*")
_WIDE_GAP = re.compile(rb"(?:[ \t\n](?:\\\n)?)*")


@cache
def _language() -> Language:
    tree_sitter = importlib.import_module("tree_sitter")
    bash = importlib.import_module("tree_sitter_bash")
    language_type = cast("type[Language]", tree_sitter.Language)
    return language_type(cast("object", bash.language()))


def parse(source: bytes) -> Node:
    """Return the root of the syntax tree; unparsable parts are marked in it (`has_error`)."""
    parser_type = cast("type[Parser]", importlib.import_module("tree_sitter").Parser)
    return parser_type(_language()).parse(source).root_node


def node_text(node: Node) -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def iter_nodes(root: Node) -> Iterator[Node]:
    """Yield a node and all its descendants in text order, without recursion: trees can be deep."""
    stack = [root]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(reversed(node.children))


def iter_descendants(node: Node, kind: str) -> Iterator[Node]:
    """Yield the outermost descendants of one type, in text order."""
    stack = list(reversed(node.children))
    while stack:
        child = stack.pop()
        if child.type == kind:
            yield child
        else:
            stack.extend(reversed(child.children))


def iter_commands(root: Node) -> Iterator[Node]:
    """Yield all simple commands of a text, also nested ones, in text order."""
    stack = list(reversed(root.children))
    while stack:
        node = stack.pop()
        if node.type == "command":
            yield node
        stack.extend(reversed(node.children))


def is_inline_gap(gap: bytes) -> bool:
    """Return whether bash also sees only blanks here; a line may continue after a blank only."""
    return _INLINE_GAP.fullmatch(gap) is not None


def is_wide_gap(gap: bytes) -> bool:
    """Return whether bash also sees only blanks and newlines here."""
    return _WIDE_GAP.fullmatch(gap) is not None


def is_fully_parsed(node: Node, source: bytes) -> bool:
    """Return whether a node's children leave out only blanks, newlines and comments.

    Security: the grammar differs from bash in details; text without a node is where it would show.
    """
    return are_fully_parsed(node.children, source)


def are_fully_parsed(nodes: Sequence[Node], source: bytes) -> bool:
    """Return the same for consecutive nodes."""
    return all(
        is_wide_gap(source[left.end_byte : right.start_byte]) for left, right in pairwise(nodes)
    )


def is_comment(node: Node, source: bytes) -> bool:
    """Return whether bash also takes this for a comment: `#` at the start of a word."""
    before = source[: node.start_byte]
    return (node.type == "comment" and (not before or before[-1:] in b"\n;")) or (
        node.type == "comment" and before[-1:] in b" \t" and before[-2:-1] != b"\\"
    )
