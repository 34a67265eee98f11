"""Pattern for a line of a command's output, matched in linear time.

Plain text, ignoring case; `|` separates alternatives and `.*` stands for anything. No regex:
the pattern is the model's, and one that backtracks would block the server.
"""

import re
from collections.abc import Sequence

_ALTERNATIVE = re.compile(r"(?<!\\)\|")
_GAP = re.compile(r"(?<!\\)\.[*+]\??")
_ESCAPED = re.compile(r"\\([^\w\s])")


class TextPattern:
    """A pattern; see the module's docstring."""

    def __init__(self, pattern: str) -> None:
        self._alternatives: Sequence[Sequence[str]] = [
            [_ESCAPED.sub(r"\1", piece).lower() for piece in _GAP.split(alternative)]
            for alternative in _ALTERNATIVE.split(pattern)
            if alternative
        ]

    def find_line(self, text: str) -> str:
        """Return the first line that matches; empty if there is none."""
        for line in text.splitlines():
            if any(_holds_in_order(line.lower(), pieces) for pieces in self._alternatives):
                return line
        return ""


def _holds_in_order(line: str, pieces: Sequence[str]) -> bool:
    position = 0
    for piece in pieces:
        found = line.find(piece, position)
        if found < 0:
            return False
        position = found + len(piece)
    return True
