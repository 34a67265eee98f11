"""Input and output formats of hooks: one JSON object on stdin, an exit code and a text.

Every hook receives `event`, `session_id`, `cwd` and `mode`. For a call it also receives `call_id`,
`tool` and `arguments`; after the call `outcome` with `is_error` and the beginning of its `text`;
after a turn `stop_reason`.

A hook before a call allows it with exit code 0. It refuses with exit code 2, its output being the
reason, or with `{"decision": "refuse", "reason": "..."}`. Every other result refuses, too: an
unchecked call is not made.

A hook of Hermes (`pre_tool_call`, `post_tool_call`) receives `hook_event_name`, `tool_name`,
`tool_input`, `session_id`, `cwd` and `extra`. Before a call it refuses by `{"decision": "block",
"reason": "..."}` or `{"action": "block", "message": "..."}`, whatever its exit code, or with exit
code 2; other failures of the program allow the call, as in Hermes. One that does not answer at all
refuses, unlike in Hermes.
"""

import json
from collections.abc import Mapping
from typing import Literal, cast

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.surrogates import repair_surrogates

MAX_OUTCOME_CHARACTERS = 10_000
MAX_OUTPUT_CHARACTERS = 2_000
NO_REASON = "it gave no reason"
REFUSING_CODE = 2
HookEvent = Literal["before_tool", "after_tool", "after_turn"]
HermesEvent = Literal["pre_tool_call", "post_tool_call"]


@frozen_dataclass
class HookResult:
    """Result of a hook; `exit_code` is None if it did not exit by itself."""

    exit_code: int | None
    output: str
    """Its output, stdout and stderr combined."""
    is_truncated: bool = False
    """Whether its output was longer than the limit."""
    failure: str = ""
    """Why there is no exit code: it timed out, was killed or could not be started."""


def as_json(event: HookEvent, values: Mapping[str, JsonValue]) -> bytes:
    """Return the JSON line that a hook reads on stdin."""
    document: dict[str, JsonValue] = {"event": event, **values}
    return repair_surrogates(json.dumps(document, ensure_ascii=False)).encode() + b"\n"


def outcome_as_json(text: str, *, is_error: bool) -> JsonValue:
    """Return the outcome of a call as hooks receive it."""
    return {"is_error": is_error, "text": text[:MAX_OUTCOME_CHARACTERS]}


def as_hermes_json(
    event: HermesEvent, facts: Mapping[str, JsonValue], extra: Mapping[str, JsonValue]
) -> bytes:
    """Return what a hook of Hermes reads on stdin; `facts` are those of a call."""
    document: dict[str, JsonValue] = {
        "hook_event_name": event,
        "tool_name": facts["tool"],
        "tool_input": facts["arguments"],
        "session_id": facts["session_id"],
        "cwd": facts["cwd"],
        "extra": {"task_id": "", "tool_call_id": facts["call_id"], **extra},
    }
    return repair_surrogates(json.dumps(document, ensure_ascii=False)).encode() + b"\n"


def parse_block(result: HookResult) -> str | None:
    """Return why a hook of Hermes refuses a call; None if it lets it by."""
    if result.failure:
        return f"it did not answer: {result.failure}"
    if result.is_truncated:
        return "its output is too long"
    output = result.output.strip()
    answer = _parse_answer(output) or {}
    if answer.get("action") == "block":
        return _text(answer.get("message") or answer.get("reason")) or NO_REASON
    if answer.get("decision") == "block":
        return _text(answer.get("reason") or answer.get("message")) or NO_REASON
    if result.exit_code == REFUSING_CODE:
        return output[:MAX_OUTPUT_CHARACTERS] or NO_REASON
    return None


def parse_refusal(result: HookResult) -> str | None:
    """Return why a call is refused; None if the hook allows it."""
    output = result.output.strip()[:MAX_OUTPUT_CHARACTERS]
    if result.failure:
        return f"it did not answer: {result.failure}"
    if result.exit_code == REFUSING_CODE:
        answer = _parse_answer(output) or {}
        return _text(answer.get("reason")) or output or NO_REASON
    if result.exit_code != 0:
        return f"it failed with exit code {result.exit_code}{f': {output}' if output else ''}"
    # Fail closed: a refusal may be in the part that was cut.
    if result.is_truncated:
        return "its output is too long"
    return _parse_decision(result.output)


def _parse_decision(output: str) -> str | None:
    """Return the reason of a JSON refusal; an unreadable decision refuses, too."""
    answer = _parse_answer(output)
    if answer is None:
        return "its decision cannot be read" if '"decision"' in output else None
    match answer.get("decision"):
        case None | "allow":  # same as no decision: the gate still decides
            return None
        case "refuse":
            return _text(answer.get("reason")) or NO_REASON
        case other:
            return f"its decision cannot be read: {_text(other)}"


def _parse_answer(output: str) -> Mapping[str, JsonValue] | None:
    """Return the whole output if it is a JSON object, else the last line with a decision."""
    for text in (output, *reversed(output.splitlines())):
        try:
            found = cast("JsonValue", json.loads(text)) if text.strip().startswith("{") else None
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict) and (text is output or "decision" in found or "action" in found):
            return found
    return None


def _text(value: JsonValue) -> str:
    return str(value)[:MAX_OUTPUT_CHARACTERS] if value is not None else ""
