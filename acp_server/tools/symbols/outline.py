"""The symbols that a source text defines, by its syntax tree. Pure text, no disk access."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.symbols.grammars import grammar_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

MAX_SOURCE_BYTES = 512 * 1024
"""Larger files are not parsed: parsing keeps every other thread waiting, about 1 s for 4 MB."""
MAX_SYMBOLS = 5_000
_CONTAINERS = frozenset({"class", "interface", "trait", "struct", "enum", "impl"})
"""Kinds of symbols whose functions are methods."""
_SEPARATORS = re.compile(r"::|->|[.#]")
_BLANKS = re.compile(r"\s+")


@frozen_dataclass
class CodeSymbol:
    """A symbol that a file defines. Lines are counted from 1, columns in bytes from 0."""

    name: str
    kind: str
    containers: tuple[str, ...]
    """The names of the symbols that it is defined in, the outermost first."""
    line: int
    end_line: int
    column: int
    """Where its name begins, in the line `name_line`."""
    name_line: int

    @property
    def qualified_name(self) -> str:
        """The name with those of what it is defined in, such as `Order.total`."""
        return ".".join((*self.containers, self.name))


@frozen_dataclass
class SymbolName:
    """A symbol's name as it is asked for, such as `Order.total` or `order::total`."""

    last: str
    containers: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> SymbolName:
        """Split a name at `.`, `::`, `#` or `->`; brackets of a call are dropped.

        >>> SymbolName.parse("Order.total()")
        SymbolName(last='total', containers=('Order',))
        """
        parts = [each for each in _SEPARATORS.split(text.strip().removesuffix("()")) if each]
        return cls(parts[-1] if parts else "", tuple(parts[:-1]))

    def matches(self, symbol: CodeSymbol) -> bool:
        """Return whether a symbol may be meant: its name, and as much before it as was given."""
        if symbol.name != self.last:
            return False
        count = len(self.containers)
        return not count or symbol.containers[-count:] == self.containers


def find_symbols(source: bytes, language: str) -> Sequence[CodeSymbol]:
    """Return the symbols that a text defines, in its order.

    Raises:
        GrammarError: There is no grammar for the language.
    """
    grammar = grammar_of(language)
    best: dict[int, tuple[int, Node, Node, str, str]] = {}
    for pattern, captures in grammar.definitions(grammar.parse(source)):
        name = captures["name"][0]
        kind = next(each for each in captures if each not in {"name", "container"})
        if name.start_byte not in best or pattern < best[name.start_byte][0]:
            outer = captures.get("container")
            container = _text_of(outer[0]) if outer else ""
            best[name.start_byte] = (pattern, name, captures[kind][0], kind, container)
    found = sorted(best.values(), key=lambda each: (each[2].start_byte, -each[2].end_byte))
    symbols: list[CodeSymbol] = []
    # What is open at a place, the outermost first: where it ends, its name, and its kind.
    open_symbols: list[tuple[int, str, str]] = []
    for _, name, whole, kind, container in found[:MAX_SYMBOLS]:
        while open_symbols and open_symbols[-1][0] <= whole.start_byte:
            open_symbols.pop()
        parts = [each for each in _SEPARATORS.split(_text_of(name)) if each]
        containers = (*(each[1] for each in open_symbols), *filter(None, (container, *parts[:-1])))
        is_method = kind == "function" and (
            len(parts) > 1 or (bool(open_symbols) and open_symbols[-1][2] in _CONTAINERS)
        )
        row, column = name.start_point
        symbol = CodeSymbol(
            parts[-1] if parts else "",
            "method" if is_method else kind,
            containers,
            whole.start_point[0] + 1,
            _last_line(whole),
            column,
            row + 1,
        )
        symbols.append(symbol)
        open_symbols.append((whole.end_byte, symbol.name, kind))
    return symbols


def _last_line(node: Node) -> int:
    """Return the line on which a node ends; a newline at its end is not a line of it."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point[0] else row + 1


def enclosing_symbol(symbols: Sequence[CodeSymbol], line: int) -> CodeSymbol | None:
    """Return the innermost symbol that a line is inside of, not the line that begins it."""
    inside = [each for each in symbols if each.line < line <= each.end_line]
    return max(inside, key=lambda each: each.line, default=None)


def find_mentions_of(source: bytes, language: str, name: str) -> Sequence[tuple[int, int]]:
    """Return the places where a name is an identifier: lines from 1, columns in bytes from 0.

    Names in comments and strings are none.

    Raises:
        GrammarError: There is no grammar for the language.
    """
    root = grammar_of(language).parse(source)
    word = name.encode("utf-8", "surrogatepass")
    places: list[tuple[int, int]] = []
    start = source.find(word)
    while start >= 0:
        end = start + len(word)
        node = root.descendant_for_byte_range(start, end)
        # A leaf with exactly this text: part of a longer name is none, text of a string neither.
        if (
            node is not None
            and node.is_named
            and not node.child_count
            and (node.start_byte, node.end_byte) == (start, end)
            and not _is_text(node)
        ):
            row, column = node.start_point
            places.append((row + 1, column))
        start = source.find(word, end)
    return places


def _is_text(node: Node) -> bool:
    """Return whether a leaf is text of a string or a comment, not a name."""
    return any(part in node.type for part in ("string", "comment", "content", "literal", "text"))


def _text_of(node: Node) -> str:
    return _BLANKS.sub(" ", (node.text or b"").decode("utf-8", "replace"))
