"""Texts cut to a length, with a mark if something is missing."""


def shorten(text: str, max_characters: int) -> str:
    """Return a text, cut after `max_characters`."""
    return text if len(text) <= max_characters else f"{text[:max_characters]}…"


def to_single_line(text: str, max_characters: int) -> str:
    """Return a text on one line, cut after `max_characters`."""
    return shorten(" ".join(text.split()), max_characters)
