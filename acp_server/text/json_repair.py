"""Reads JSON objects as models write them. Mends only mistakes that leave one reading."""

import json
import re
from collections.abc import Iterator
from typing import cast

from pydantic import JsonValue

_BEGIN_PATCH = "*** Begin Patch"
_FENCE = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_NEUTRAL_ESCAPES = frozenset('"\\/')
_MEANINGFUL_ESCAPES = frozenset("bfnrtu")


def load_object(text: str) -> tuple[dict[str, JsonValue], str]:
    """Return a JSON object, and what was mended in a few words; empty if nothing was.

    Mended are trailing commas, raw control characters in strings, escapes that JSON lacks, a code
    fence, doubled braces, and an object within a string or a list. A V4A patch alone is read as an
    object with that patch: so models give it to Codex.

    Raises:
        ValueError: It is not JSON, or no object.
        RecursionError: It is nested too deeply.
    """
    if text.lstrip().startswith(_BEGIN_PATCH):
        return {"patch": text}, "JSON around the patch"
    try:
        value, mended = _loads(text), ""
    except ValueError:
        value, mended = _load_mended(text)
    if isinstance(value, str):
        try:
            value, mended = _loads(value), "a string that held JSON"
        except ValueError:
            value, mended = _load_mended(value)
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        value, mended = value[0], "a list around the object"
    if not isinstance(value, dict):
        message = "not an object"
        raise TypeError(message)
    return value, mended


def _loads(text: str, *, strict: bool = True) -> JsonValue:
    return cast("JsonValue", json.loads(text, strict=strict))


def _load_mended(text: str) -> tuple[JsonValue, str]:
    """Return JSON after the first mending with which it can be read.

    Raises:
        ValueError: The error of the text as it is, with its position.
    """
    try:
        return _loads(text, strict=False), "raw control characters"
    except ValueError as error:
        for mended, name in _mendings(text):
            try:
                return _loads(mended, strict=False), name
            except ValueError:
                continue
        raise error from None


def _mendings(text: str) -> Iterator[tuple[str, str]]:
    fenced = _FENCE.fullmatch(text)
    if fenced is not None:
        yield fenced[1], "a code fence"
        text = fenced[1]
    # Some endpoints send an empty object before the real one.
    after_empty = re.fullmatch(r"\s*\{\s*\}\s*(\{.*\})\s*", text, re.DOTALL)
    if after_empty is not None:
        yield after_empty[1], "an empty object before it"
    doubled = re.fullmatch(r"\s*\{\s*(\{.*\})\s*\}\s*", text, re.DOTALL)
    if doubled is not None:
        yield doubled[1], "doubled braces"
    without_commas = _outside_strings(text)
    if without_commas != text:
        yield without_commas, "a trailing comma"
    escaped = _STRING.sub(lambda found: _mend_escapes(found[0]), without_commas)
    if escaped != without_commas:
        yield escaped, "invalid escapes"


def _outside_strings(text: str) -> str:
    """Return a text without the commas before a closing bracket, its strings unchanged."""
    pieces: list[str] = []
    end = 0
    for found in _STRING.finditer(text):
        pieces += [_TRAILING_COMMA.sub("", text[end : found.start()]), found[0]]
        end = found.end()
    return "".join((*pieces, _TRAILING_COMMA.sub("", text[end:])))


def _mend_escapes(string: str) -> str:
    r"""Double the backslashes of a string that holds `\d` or the like.

    A string that also holds an escape such as `\n` stays: it could be meant either way.
    """
    used = {found[1] for found in _ESCAPE.finditer(string)}
    if used <= _NEUTRAL_ESCAPES or used & _MEANINGFUL_ESCAPES:
        return string
    return _ESCAPE.sub(
        lambda found: found[0] if found[1] in _NEUTRAL_ESCAPES else rf"\\{found[1]}", string
    )
