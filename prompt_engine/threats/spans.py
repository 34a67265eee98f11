"""A stretch of a text, and what stands around it. Knows no patterns."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """The characters text[start:end]."""

    text: str
    start: int
    end: int

    def before(self, characters: int) -> str:
        """Return at most so many characters that stand in front of it."""
        return self.text[max(0, self.start - characters) : self.start]

    def after(self, characters: int) -> str:
        """Return at most so many characters that follow its end."""
        return self.text[self.end : self.end + characters]
