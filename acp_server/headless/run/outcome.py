"""Outcomes of a run and their exit codes."""

import signal
from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from acp_server.handlers.errors import AUTH_REQUIRED, RESOURCE_NOT_FOUND
from acp_server.headless.errors import AgentClientError, AgentResponseError
from acp_server.jsonrpc.errors import INVALID_PARAMS

Outcome = Literal[
    "done",
    "internal_error",
    "usage_error",
    "timeout",
    "session_not_found",
    "denied",
    "findings",
    "invalid_answer",
    "budget",
    "authentication",
    "refused",
    "provider_error",
    "interrupted",
    "terminated",
    "check_failed",
    "setup_failed",
    "not_run",
]

EXIT_CODES: Mapping[Outcome, int] = {
    "done": 0,
    "internal_error": 1,
    "invalid_answer": 1,
    "usage_error": 2,
    "timeout": 3,
    "session_not_found": 4,
    "denied": 5,
    "findings": 6,
    "budget": 7,
    "authentication": 8,
    "refused": 9,
    "provider_error": 75,
    "interrupted": 130,
    "terminated": 143,
    # Of a fleet's tasks alone. Others decide the exit code if a task was not run.
    "check_failed": 10,
    "setup_failed": 1,
    "not_run": 0,
}

STOP_MESSAGES: Mapping[str, str] = {
    "max_tokens": "the answer reached the model's maximum output length",
    "max_turn_requests": "the turn reached its limit of model calls (max_turn_requests)",
    "refusal": "the model, or a content filter of its provider, refused to continue",
    "cancelled": "the run was cancelled before it was done",
}
"""Messages for stop reasons that are not a success."""

_BY_KIND: Mapping[JsonValue, Outcome] = {
    "authentication": "authentication",
    "permission": "authentication",
    "rate_limit": "provider_error",
    "overloaded": "provider_error",
    "connection": "provider_error",
    "other": "provider_error",
    "repetition": "budget",
    "cost_limit": "budget",
    "unavailable": "usage_error",
    "unknown": "usage_error",
}
_BY_CODE: Mapping[int, Outcome] = {
    AUTH_REQUIRED: "authentication",
    RESOURCE_NOT_FOUND: "session_not_found",
    INVALID_PARAMS: "usage_error",
}


def outcome_of_error(error: AgentClientError) -> Outcome:
    """Return the outcome of a run whose request failed."""
    if not isinstance(error, AgentResponseError):
        return "internal_error"
    kind = error.data.get("kind") if isinstance(error.data, dict) else None
    return _BY_KIND.get(kind) or _BY_CODE.get(error.code, "internal_error")


def outcome_of_signal(number: int | None) -> Outcome:
    """Return the outcome of a run that was ended by a signal."""
    return "interrupted" if number == signal.SIGINT else "terminated"


def outcome_of_stop(stop_reason: str) -> Outcome:
    """Return the outcome for a stop reason, if nothing was denied."""
    match stop_reason:
        case "end_turn":
            return "done"
        case "max_tokens" | "max_turn_requests":
            return "budget"
        case "refusal":
            return "refused"
        case "cancelled":
            return "interrupted"
        case _:
            return "internal_error"
