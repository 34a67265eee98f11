"""Outlines, definitions and references as text for the model: the source's own lines, numbered."""

import os
from collections.abc import Iterator, Sequence

from acp_server.tools.search.formatting import format_line, format_name
from acp_server.tools.symbols.outline import CodeSymbol, enclosing_symbol

MAX_OUTLINE_LINES = 400
MAX_BODY_LINES = 60
"""How long a definition may be to be shown whole, if it is the only one."""


def shown_line(lines: Sequence[str], number: int) -> str:
    """Return a line of a source as results show it; a line that does not exist is empty."""
    text = lines[number - 1] if 0 < number <= len(lines) else ""
    return format_line(text.encode("utf-8", "surrogateescape"), None)


def format_outline(symbols: Sequence[CodeSymbol], lines: Sequence[str]) -> str:
    """Return each symbol as `FIRST-LAST:` and the line that defines it."""
    shown = [
        f"{_range(each)}:{shown_line(lines, each.line if each.kind == 'macro' else each.name_line)}"
        for each in symbols[:MAX_OUTLINE_LINES]
    ]
    if len(symbols) > MAX_OUTLINE_LINES:
        shown.append(f"[{len(symbols) - MAX_OUTLINE_LINES:,} more]")
    return "\n".join(shown)


def _range(symbol: CodeSymbol) -> str:
    is_one_line = symbol.end_line == symbol.line
    return str(symbol.line) if is_one_line else f"{symbol.line}-{symbol.end_line}"


def format_definition(name: str, symbol: CodeSymbol, lines: Sequence[str], *, whole: bool) -> str:
    """Return where a symbol is defined and the line that does, or all lines if it is short."""
    heading = f"{name}:{_range(symbol)} {symbol.kind} {symbol.qualified_name}"
    if not whole or symbol.end_line - symbol.line >= MAX_BODY_LINES:
        return f"{heading}\n{symbol.name_line}:{shown_line(lines, symbol.name_line)}"
    body = (
        f"{number}:{shown_line(lines, number)}"
        for number in range(symbol.line, symbol.end_line + 1)
    )
    return "\n".join((heading, *body))


def format_references(
    files: Sequence[tuple[str, Sequence[int], Sequence[str], Sequence[CodeSymbol]]],
) -> str:
    """Return the lines of references by file; the symbol that they are in comes before them.

    A file is its name, its lines with references, all of its lines, and its symbols.
    """
    return "\n".join(
        "\n".join((format_name(os.fsencode(name)), *_with_symbols(numbers, lines, symbols)))
        for name, numbers, lines, symbols in files
    )


def _with_symbols(
    numbers: Sequence[int], lines: Sequence[str], symbols: Sequence[CodeSymbol]
) -> Iterator[str]:
    inside = ""
    for number in numbers:
        symbol = enclosing_symbol(symbols, number)
        name = "" if symbol is None else symbol.qualified_name
        if name and name != inside:
            yield f"[in {name}]"
        inside = name
        yield f"{number}:{shown_line(lines, number)}"
