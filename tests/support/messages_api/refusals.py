"""Error responses of the API: status, type and message.

https://platform.claude.com/docs/en/api/errors
"""

from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

ErrorType = Literal[
    "invalid_request_error",
    "authentication_error",
    "billing_error",
    "permission_error",
    "not_found_error",
    "request_too_large",
    "rate_limit_error",
    "api_error",
    "timeout_error",
    "overloaded_error",
]


@dataclass(frozen=True)
class MessagesApiRefusal(Exception):  # noqa: N818  what the API does, not what goes wrong here
    """Raised to answer a request with an error."""

    message: str
    status: int = 400
    type: ErrorType = "invalid_request_error"

    def __str__(self) -> str:
        return self.message


def error_body(type_: ErrorType, message: str, request_id: str) -> dict[str, JsonValue]:
    """Return the body of an error response."""
    error: dict[str, JsonValue] = {"type": type_, "message": message}
    return {"type": "error", "error": error, "request_id": request_id}
