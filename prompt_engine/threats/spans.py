"""Span of a text, with access to its surroundings."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TextSpan:
    """The characters `text[start:end]`."""

    text: str
    start: int
    end: int

    def before(self, characters: int) -> str:
        """Return at most this many characters before the span."""
        return self.text[max(0, self.start - characters) : self.start]

    def after(self, characters: int) -> str:
        """Return at most this many characters after the span."""
        return self.text[self.end : self.end + characters]
