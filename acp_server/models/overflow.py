"""Recognizes errors that say that a request does not fit the context window.

The wordings of many endpoints are in `overflow.toml`. Independent of the API format.
"""

import re
import tomllib
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object

MAX_TEXT_CHARACTERS = 8_000
"""How much of an error is searched."""
_STATUSES = frozenset(
    {
        HTTPStatus.BAD_REQUEST,
        HTTPStatus.UNPROCESSABLE_ENTITY,
        HTTPStatus.INTERNAL_SERVER_ERROR,  # local servers
    }
)
"""Statuses with which a message can mean an overflow. Others, such as 429, have their own cause,
even if the message counts tokens."""


@frozen_dataclass
class ContextOverflow:
    """What an endpoint says of a request that does not fit; a number it does not name is None."""

    limit_tokens: int | None = None
    request_tokens: int | None = None


@frozen_dataclass
class _Wordings:
    codes: frozenset[str]
    other_codes: frozenset[str]
    phrase: re.Pattern[str]
    request_numbers: tuple[re.Pattern[str], ...]
    limit_numbers: tuple[re.Pattern[str], ...]


def find_overflow(message: str, error: Object, status: int | None = None) -> ContextOverflow | None:
    """Return the overflow that an endpoint reports; None for any other error.

    `error` is the structured error, if there is one; `status` is None inside a stream.
    """
    wordings = _load_wordings()
    codes = {str(error.get(name)) for name in ("code", "type")}
    is_too_large = status == HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    # A gateway wraps the error of the model's own endpoint (OpenRouter: `metadata.raw`).
    text = f"{message}\n{error.get('metadata') or ''}"[:MAX_TEXT_CHARACTERS]
    if not is_too_large and not codes & wordings.codes:
        can_be_overflow = status is None or status in _STATUSES
        if not can_be_overflow or codes & wordings.other_codes or not wordings.phrase.search(text):
            return None
    return ContextOverflow(
        _count(error.get("n_ctx")) or _find_number(wordings.limit_numbers, text),
        _count(error.get("n_prompt_tokens")) or _find_number(wordings.request_numbers, text),
    )


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) and value > 0 else None


def _find_number(patterns: tuple[re.Pattern[str], ...], text: str) -> int | None:
    for pattern in patterns:
        if found := pattern.search(text):
            digits = (group.replace(",", "") for group in found.groups() if group)
            return sum(int(each) for each in digits if each) or None
    return None


@cache
def _load_wordings() -> _Wordings:
    """Read the wordings once; errors are rare, so not at import."""
    document = tomllib.loads(Path(__file__).with_name("overflow.toml").read_text("utf-8"))
    lists = cast("dict[str, list[str]]", document)

    def compile_all(name: str) -> tuple[re.Pattern[str], ...]:
        return tuple(re.compile(each, re.IGNORECASE) for each in lists[name])

    return _Wordings(
        codes=frozenset(lists["codes"]),
        other_codes=frozenset(lists["other_codes"]),
        phrase=re.compile("|".join(f"(?:{each})" for each in lists["phrases"]), re.IGNORECASE),
        request_numbers=compile_all("request_numbers"),
        limit_numbers=compile_all("limit_numbers"),
    )
