"""Small helpers for texts and URLs that servers send."""

from urllib.parse import SplitResult, urlsplit


def split_url(url: str) -> SplitResult:
    """Split a URL; an invalid URL becomes a path only."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def shorten(text: str, max_characters: int) -> str:
    """Return a text, cut after `max_characters`."""
    return text if len(text) <= max_characters else f"{text[:max_characters]}…"


def to_single_line(text: str, max_characters: int) -> str:
    """Return a text on one line, cut after `max_characters`."""
    return shorten(" ".join(text.split()), max_characters)
