"""Bash's grammar: a command line becomes a tree, or it is said that it cannot be read.

The only module that imports tree-sitter, when the first command is read (25 ms). It knows syntax;
what a command does is not its business.
"""

from __future__ import annotations

import importlib
import re
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tree_sitter import Language, Node, Parser

_INLINE_GAP = re.compile(rb"(?:[ \t](?:\\\n)?)*")
_WIDE_GAP = re.compile(rb"(?:[ \t\n](?:\\\n)?)*")


@cache
def _language() -> Language:
    tree_sitter = importlib.import_module("tree_sitter")
    bash = importlib.import_module("tree_sitter_bash")
    make = cast("type[Language]", tree_sitter.Language)
    return make(cast("object", bash.language()))


def parse(source: bytes) -> Node:
    """Return the root of the tree; what was not understood is marked in it (`has_error`)."""
    make = cast("type[Parser]", importlib.import_module("tree_sitter").Parser)
    return make(_language()).parse(source).root_node


def text_of(node: Node) -> str:
    """Return the source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def nodes_of(root: Node) -> Iterator[Node]:
    """Yield a node and all below it in the order of the text. Trees can be too deep to recurse."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(reversed(node.children))


def descendants(node: Node, kind: str) -> Iterator[Node]:
    """Yield the outermost nodes of one kind below a node, in the order of the text."""
    waiting = list(reversed(node.children))
    while waiting:
        child = waiting.pop()
        if child.type == kind:
            yield child
        else:
            waiting.extend(reversed(child.children))


def every_command(root: Node) -> Iterator[Node]:
    """Yield the simple commands of a text, also those within others, in the order of the text."""
    waiting = list(reversed(root.children))
    while waiting:
        node = waiting.pop()
        if node.type == "command":
            yield node
        waiting.extend(reversed(node.children))


def is_inline_gap(between: bytes) -> bool:
    """Whether bash, too, sees only blanks here. A line may be continued after a blank only."""
    return _INLINE_GAP.fullmatch(between) is not None


def is_wide_gap(between: bytes) -> bool:
    """Whether bash, too, sees only blanks and line ends here."""
    return _WIDE_GAP.fullmatch(between) is not None


def is_covered(node: Node, source: bytes) -> bool:
    """Whether a node's children leave out nothing but blanks, line ends and comments.

    The grammar and bash differ here and there; text that no node accounts for would be the place.
    """
    return all(
        is_wide_gap(source[left.end_byte : right.start_byte])
        for left, right in pairwise(node.children)
    )


def is_comment(node: Node, source: bytes) -> bool:
    """Whether bash, too, takes this for a comment: `#` at the beginning of a word."""
    before = source[: node.start_byte]
    return (node.type == "comment" and (not before or before[-1:] in b"\n;")) or (
        node.type == "comment" and before[-1:] in b" \t" and before[-2:-1] != b"\\"
    )
