"""Classifies errors of the SDK and its transport as `ProviderFailure`.

Source: https://docs.anthropic.com/en/api/errors
"""

from typing import cast

import httpx2
from anthropic import APIConnectionError, APIError, APIStatusError, APITimeoutError
from pydantic import JsonValue

from acp_server.models.anthropic.stream import AnthropicStreamError
from acp_server.models.failures import (
    ProviderFailure,
    classify_connection_error,
    classify_redirect,
    classify_status,
    classify_stream_error,
    classify_timeout,
    parse_retry_after,
    shorten_message,
)
from acp_server.text.json_values import as_object
from acp_server.turn.errors import FailureKind

_KINDS_BY_TYPE: dict[str, FailureKind] = {
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
}
_RETRYABLE_TYPES = {"overloaded_error", "api_error", "rate_limit_error", "timeout_error"}
_SIGN_IN_HINT = "run `acp-server setup` to store another key, or set ANTHROPIC_API_KEY"


def classify_error(error: Exception, endpoint: str) -> ProviderFailure:
    """Classify an error of the SDK or its transport; `endpoint` is its name in messages."""
    match error:
        case APIStatusError():
            return _classify_response(error, endpoint)
        case AnthropicStreamError():
            kind = _KINDS_BY_TYPE.get(error.kind, "other")
            is_temporary = error.kind in _RETRYABLE_TYPES
            return classify_stream_error(
                str(error), kind, endpoint, {"type": error.kind}, is_temporary=is_temporary
            )
        case APITimeoutError() | httpx2.TimeoutException():
            return classify_timeout(endpoint)
        case APIConnectionError() | httpx2.TransportError():
            return classify_connection_error(error.__cause__ or error, endpoint)
        case APIError():
            return ProviderFailure(
                f"{endpoint} failed: {error.message}", "other", is_temporary=True
            )
        case _:
            reason = f"{endpoint} sent data that the Messages API does not define ({error})"
            return ProviderFailure(reason, "connection", is_temporary=True)


def _classify_response(error: APIStatusError, endpoint: str) -> ProviderFailure:
    if error.response.is_redirect:
        return classify_redirect(error.response.headers.get("location"), endpoint)
    message = error.api_message or shorten_message(error.message)
    wait = parse_retry_after(error.response.headers.get("retry-after"))
    detail = as_object(as_object(cast("JsonValue", error.body)).get("error"))
    return classify_status(error.status_code, message, endpoint, _SIGN_IN_HINT, wait, detail)
