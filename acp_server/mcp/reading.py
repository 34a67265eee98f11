"""Values of JSON, taken for what is wanted where they are that, and for nothing where not."""

from urllib.parse import SplitResult, urlsplit

from pydantic import JsonValue

Object = dict[str, JsonValue]


def as_object(value: JsonValue) -> Object:
    """Return an object as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    """Return a list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: JsonValue) -> str:
    """Return a text as it is, anything else as an empty one."""
    return value if isinstance(value, str) else ""


def parts_of(url: str) -> SplitResult:
    """Return the parts of an address; of one that is none, nothing but its path."""
    try:
        return urlsplit(url)
    except ValueError:
        return SplitResult("", "", url, "", "")


def shortened(text: str, most: int) -> str:
    """Return a text, cut behind so many characters."""
    return text if len(text) <= most else f"{text[:most]}…"


def line_of(text: str, most: int) -> str:
    """Return a text as one line, cut behind so many characters."""
    return shortened(" ".join(text.split()), most)
