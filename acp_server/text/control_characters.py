"""Characters that would control a terminal or disguise text, and JSON without them. Pure."""

_CONTROLS = (*range(32), *range(127, 160))
_TEXT_DIRECTIONS = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_LINE_ENDS = (0x2028, 0x2029)

UNPRINTABLE = frozenset((*_CONTROLS, *_TEXT_DIRECTIONS, *_LINE_ENDS)) - {ord("\n"), ord("\t")}
"""Code points of control, bidirectional and line-separator characters."""
_REPLACEMENTS = dict.fromkeys(UNPRINTABLE, "\ufffd")
_ESCAPES = {code: f"\\u{code:04x}" for code in UNPRINTABLE}


def replace_unprintable(text: str) -> str:
    """Return a text of others, to be shown, with unprintable characters replaced."""
    return text.translate(_REPLACEMENTS)


def escape_json(text: str) -> str:
    r"""Return the same JSON with unprintable characters escaped.

    JSON's own rules leave some of them in strings as they are, such as U+009B, which begins a
    terminal's control sequence.

    >>> print(escape_json('["\x9b2J"]'))
    ["\u009b2J"]
    """
    return text.translate(_ESCAPES)
