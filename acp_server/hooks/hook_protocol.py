"""Input and output formats of hooks: one JSON object on stdin, an exit code and a text.

Every hook receives `event`, `session_id`, `cwd` and `mode`. For a call it also receives `call_id`,
`tool` and `arguments`; after the call `outcome` with `is_error` and the beginning of its `text`;
after a turn `stop_reason`.

A hook before a call allows it with exit code 0. It refuses with exit code 2, its output being the
reason, or with `{"decision": "refuse", "reason": "..."}`. Every other result refuses, too: an
unchecked call is not made.
"""

import json
from collections.abc import Mapping
from typing import Literal, cast

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen
from acp_server.text.surrogates import mended

MOST_OUTCOME_CHARACTERS = 10_000
MOST_SAID_CHARACTERS = 2_000
REFUSING_CODE = 2
Event = Literal["before_tool", "after_tool", "after_turn"]


@frozen
class Ran:
    """Result of a hook; `code` is None if it did not exit by itself."""

    code: int | None
    said: str
    """Its output, stdout and stderr combined."""
    is_cut: bool = False
    """Whether its output was longer than the limit."""
    failure: str = ""
    """Why there is no exit code: it timed out, was killed or could not be started."""


def as_json(event: Event, values: Mapping[str, JsonValue]) -> bytes:
    """Return the JSON line that a hook reads on stdin."""
    told: dict[str, JsonValue] = {"event": event, **values}
    return mended(json.dumps(told, ensure_ascii=False)).encode() + b"\n"


def outcome_as_json(text: str, *, is_error: bool) -> JsonValue:
    """Return the outcome of a call as hooks receive it."""
    return {"is_error": is_error, "text": text[:MOST_OUTCOME_CHARACTERS]}


def refusal_in(ran: Ran) -> str | None:
    """Return why a call is refused; None if the hook allows it."""
    said = ran.said.strip()[:MOST_SAID_CHARACTERS]
    if ran.failure:
        return f"it did not answer: {ran.failure}"
    if ran.code == REFUSING_CODE:
        return _reason_in(said) or said or "it gave no reason"
    if ran.code != 0:
        return f"it failed with exit code {ran.code}{f': {said}' if said else ''}"
    # Fail closed: a refusal may be in the part that was cut.
    if ran.is_cut:
        return "it said too much to be read"
    return _refusal_said(ran.said)


def _refusal_said(said: str) -> str | None:
    """Return the reason of a JSON refusal; an unreadable decision refuses, too."""
    answer = _answer_in(said)
    if answer is None:
        return "its decision cannot be read" if '"decision"' in said else None
    match answer.get("decision"):
        case None | "allow":  # same as no decision: the gate still decides
            return None
        case "refuse":
            return _text(answer.get("reason")) or "it gave no reason"
        case other:
            return f"its decision cannot be read: {_text(other)}"


def _reason_in(said: str) -> str:
    answer = _answer_in(said)
    return _text(answer.get("reason")) if answer is not None else ""


def _answer_in(said: str) -> Mapping[str, JsonValue] | None:
    """Return the whole output if it is a JSON object, else the last line with a decision."""
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
