"""Shortens titles to one line, and results to the length that a model should read."""

import json
from collections.abc import Callable, Iterable

from pydantic import JsonValue


def one_line(text: str, max_characters: int) -> str:
    """Return a text with single spaces between its words, cut if it is long."""
    line = " ".join(text.split())
    return line if len(line) <= max_characters else f"{line[:max_characters]}…"


def headline(text: str, max_characters: int = 120) -> str:
    """Return the first line of a text, cut if it is long, with a mark if there is more."""
    first, *others = text.strip().splitlines() or [""]
    is_cut = bool(others) or len(first) > max_characters
    return f"{first[:max_characters]}{' …' if is_cut else ''}"


def fit_json(
    build: Callable[[int], JsonValue], text_limits: Iterable[int], max_characters: int
) -> str:
    """Return a result as JSON, built with the first limit of its texts with which it fits.

    With the last limit, it is returned even if it does not fit.
    """
    result = ""
    for limit in text_limits:
        result = json.dumps(build(limit), ensure_ascii=False)
        if len(result) <= max_characters:
            break
    return result
