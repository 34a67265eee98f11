"""Texts of models, tools and repositories in HTML: cleaned and escaped."""

from collections.abc import Callable
from html import escape


class HtmlEscaper:
    """Cleans and escapes texts."""

    def __init__(self, clean: Callable[[str], str]) -> None:
        """Clean with a function that removes secrets and control characters."""
        self._clean = clean

    def line(self, text: str) -> str:
        """Return a text on one line."""
        return escape(" ".join(self._clean(text).split()))

    def block(self, text: str) -> str:
        """Return a text with its lines."""
        return escape(self._clean(text))

    def cut_block(self, text: str, limit: int) -> str:
        """Return the beginning of a text with its lines, and how much was cut."""
        rest = len(text) - limit
        more = f"\n<i>{rest:,} more characters</i>" if rest > 0 else ""
        return f"{self.block(text[:limit])}{more}"

    def lines(self, text: str) -> list[str]:
        """Return the lines of a text, escaped."""
        return self.block(text).split("\n")
