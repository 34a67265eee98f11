"""Classifies failures of OpenAI-compatible endpoints as `ProviderFailure`.

Source: https://developers.openai.com/api/docs/guides/error-codes
"""

from http import HTTPStatus

import httpx2
from pydantic import JsonValue

from acp_server.models.failures import (
    Answered,
    Fault,
    connection_fault,
    is_busy,
    kind_of_status,
    retry_after_seconds,
    shortened_words,
    status_fault,
    streamed_fault,
    timeout_fault,
)
from acp_server.models.openai_compatible.wire import StreamedError, object_of, text_in
from acp_server.turn.errors import FailureKind

NO_CREDIT = "insufficient_quota"
"""Error code sent with status 429 although waiting does not help."""
_KINDS_BY_WORD: dict[str, FailureKind] = {
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "server_is_overloaded": "overloaded",
    "overloaded_error": "overloaded",
    "slow_down": "overloaded",
}
_LASTING_WORDS = {
    "invalid_prompt",
    "invalid_request_error",
    "context_length_exceeded",
    "content_filter",
    NO_CREDIT,
}


def understand(error: Exception, endpoint: str) -> Fault:
    """Classify an error of the transport or of the stream."""
    match error:
        case StreamedError():
            return _streamed(error, endpoint)
        case httpx2.TimeoutException():
            return timeout_fault(endpoint)
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            reason = f"the base URL of {endpoint or 'the endpoint'} cannot be used ({error})"
            return Fault(reason, "request")
        case httpx2.SSEError():
            return _garbage(error, endpoint)
        case httpx2.TransportError():
            return connection_fault(error.__cause__ or error, endpoint)
        case _:
            return _garbage(error, endpoint)


def refusal(response: httpx2.Response, endpoint: str, sign_in_again: str) -> Fault:
    """Classify a response with an error status; its body must have been read."""
    words = words_of(response)
    wait = retry_after_seconds(response.headers.get("retry-after"))
    if NO_CREDIT in response.text:
        return Fault(f"{endpoint} does not permit this: {shortened_words(words)}", "permission")
    fault = status_fault(Answered(response.status_code, words, wait), endpoint, sign_in_again)
    if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
        # Local servers answer 500 when their chat template cannot render the request, e.g. with
        # images. Keep the message, so that the offending field can be omitted.
        return Fault(fault.reason, fault.kind, True, wait, words)  # noqa: FBT003  is_temporary
    return fault


def words_of(response: httpx2.Response) -> str:
    """Extract the message of an error response in any of its shapes; else return the status."""
    try:
        body: JsonValue = response.json()
    except ValueError:
        body = response.text
    if isinstance(body, list) and body:  # Gemini wraps the error in a list
        body = body[0]
    error = object_of(body).get("error", body)
    detail = object_of(body).get("detail")
    words = error if isinstance(error, str) else text_in(object_of(error), "message")
    words = words or (detail if isinstance(detail, str) else text_in(object_of(body), "message"))
    return words or response.reason_phrase or f"status {response.status_code}"


def _streamed(error: StreamedError, endpoint: str) -> Fault:
    code = error.code
    if isinstance(code, int):
        kind = kind_of_status(code)
        return streamed_fault(str(error), kind, endpoint, is_temporary=is_busy(code))
    kind = _KINDS_BY_WORD.get(str(code), "other")
    is_temporary = str(code) not in _LASTING_WORDS
    return streamed_fault(str(error), kind, endpoint, is_temporary=is_temporary)


def _garbage(error: Exception, endpoint: str) -> Fault:
    said = shortened_words(str(error))
    reason = f"{endpoint} sent data that its API does not define ({said})"
    return Fault(reason, "connection", is_temporary=True)
