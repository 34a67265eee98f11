"""Lenient readers of JSON values: a value of the wrong type counts as empty."""

from urllib.parse import SplitResult, urlsplit

from pydantic import JsonValue

Object = dict[str, JsonValue]


def as_object(value: JsonValue) -> Object:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def as_text(value: JsonValue) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


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
