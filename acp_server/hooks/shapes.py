"""What hooks are told and what they answer: one JSON object on stdin, an exit code and a text.

Told are `event`, `session_id`, `cwd` and `mode`; of a call `call_id`, `tool` and `arguments`, after
it `outcome` with `is_error` and the beginning of its `text`; of a turn `stop_reason`.

A hook before a call lets it by with exit code 0. It refuses with 2, its output being the reason, or
with `{"decision": "refuse", "reason": "..."}`. Whatever else happens refuses too: a call that was
not looked at is not made.
"""

import json
from collections.abc import Mapping
from typing import Literal, cast

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.surrogates import mended

MOST_OUTCOME_CHARACTERS = 10_000
MOST_SAID_CHARACTERS = 2_000
REFUSING_CODE = 2
Event = Literal["before_tool", "after_tool", "after_turn"]


@frozen
class Ran:
    """How a hook ended; `code` is None where it did not end by itself."""

    code: int | None
    said: str
    """What it printed, stdout and stderr together."""
    is_cut: bool = False
    """Whether it printed more than is read."""
    failure: str = ""
    """Why it has no code: its time was up, it was killed, it could not be started."""


def as_json(event: Event, values: Mapping[str, JsonValue]) -> bytes:
    """Return what a hook reads."""
    told: dict[str, JsonValue] = {"event": event, **values}
    return mended(json.dumps(told, ensure_ascii=False)).encode() + b"\n"


def outcome_as_json(text: str, *, is_error: bool) -> JsonValue:
    """Return what a hook is told of a call's end."""
    return {"is_error": is_error, "text": text[:MOST_OUTCOME_CHARACTERS]}


def refusal_in(ran: Ran) -> str | None:
    """Return why a call is not made; None when the hook lets it by."""
    said = ran.said.strip()[:MOST_SAID_CHARACTERS]
    if ran.failure:
        return f"it did not answer: {ran.failure}"
    if ran.code == REFUSING_CODE:
        return _reason_in(said) or said or "it gave no reason"
    if ran.code != 0:
        return f"it failed with exit code {ran.code}{f': {said}' if said else ''}"
    if ran.is_cut:
        return "it said too much to be read"
    return _refusal_said(ran.said)


def _refusal_said(said: str) -> str | None:
    """Return the reason of a refusal in words; words that are half of one refuse too."""
    answer = _answer_in(said)
    if answer is None:
        return "its decision cannot be read" if '"decision"' in said else None
    match answer.get("decision"):
        case None | "allow":  # to allow is to say nothing: the gate still asks
            return None
        case "refuse":
            return _text(answer.get("reason")) or "it gave no reason"
        case other:
            return f"its decision cannot be read: {_text(other)}"


def _reason_in(said: str) -> str:
    answer = _answer_in(said)
    return _text(answer.get("reason")) if answer is not None else ""


def _answer_in(said: str) -> Mapping[str, JsonValue] | None:
    """Return the last JSON object among the lines, or that all of them are."""
    for text in (said, *reversed(said.splitlines())):
        try:
            found = cast("JsonValue", json.loads(text)) if text.strip().startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and (text is said or "decision" in found):
            return found
    return None


def _text(value: JsonValue) -> str:
    return str(value)[:MOST_SAID_CHARACTERS] if value is not None else ""
