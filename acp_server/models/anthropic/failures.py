"""Classifies errors of the SDK and its transport as `ProviderFailure`.

Source: https://docs.anthropic.com/en/api/errors
"""

import httpx2
from anthropic import APIConnectionError, APIError, APIStatusError, APITimeoutError

from acp_server.models.anthropic.stream import StreamedError
from acp_server.models.failures import (
    Answered,
    Fault,
    connection_fault,
    retry_after_seconds,
    shortened_words,
    status_fault,
    streamed_fault,
    timeout_fault,
)
from acp_server.turn.errors import FailureKind

_KINDS_BY_TYPE: dict[str, FailureKind] = {
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
}
_BUSY_TYPES = {"overloaded_error", "api_error", "rate_limit_error", "timeout_error"}
_SIGN_IN_AGAIN = "run `acp-server setup` to store another key, or set ANTHROPIC_API_KEY"


def understand(error: Exception, endpoint: str) -> Fault:
    """Classify an error of the SDK or its transport; `endpoint` is its name in messages."""
    match error:
        case APIStatusError():
            return status_fault(_answered(error), endpoint, _SIGN_IN_AGAIN)
        case StreamedError():
            kind = _KINDS_BY_TYPE.get(error.kind, "other")
            is_temporary = error.kind in _BUSY_TYPES
            return streamed_fault(str(error), kind, endpoint, is_temporary=is_temporary)
        case APITimeoutError() | httpx2.TimeoutException():
            return timeout_fault(endpoint)
        case APIConnectionError() | httpx2.TransportError():
            return connection_fault(error.__cause__ or error, endpoint)
        case APIError():
            return Fault(f"{endpoint} failed: {error.message}", "other", is_temporary=True)
        case _:
            reason = f"{endpoint} sent data that the Messages API does not define ({error})"
            return Fault(reason, "connection", is_temporary=True)


def _answered(error: APIStatusError) -> Answered:
    said = error.api_message or shortened_words(error.message)
    wait = retry_after_seconds(error.response.headers.get("retry-after"))
    return Answered(error.status_code, said, wait)
