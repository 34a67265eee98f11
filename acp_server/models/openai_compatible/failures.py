"""Classifies failures of OpenAI-compatible endpoints as `ProviderFailure`.

Source: https://developers.openai.com/api/docs/guides/error-codes
"""

from http import HTTPStatus

import httpx2
from pydantic import JsonValue

from acp_server.models.failures import (
    QUOTA_CODES,
    ProviderFailure,
    classify_connection_error,
    classify_redirect,
    classify_status,
    classify_stream_error,
    classify_timeout,
    failure_kind_of_status,
    is_retryable_status,
    parse_retry_after,
    shorten_message,
)
from acp_server.models.openai_compatible.wire import OpenAiStreamError
from acp_server.models.traffic import NoRecordedAnswerError
from acp_server.text.json_values import Object, as_object, as_text
from acp_server.turn.errors import FailureKind

_KINDS_BY_CODE: dict[str, FailureKind] = {
    "rate_limit_exceeded": "rate_limit",
    "rate_limit_error": "rate_limit",
    "server_is_overloaded": "overloaded",
    "overloaded_error": "overloaded",
    "slow_down": "overloaded",
}
_PERMANENT_CODES = {
    "invalid_prompt",
    "invalid_request_error",
    "content_filter",
    *QUOTA_CODES,
}


def classify_error(error: Exception, endpoint: str) -> ProviderFailure:
    """Classify an error of the transport or of the stream."""
    match error:
        case OpenAiStreamError():
            code = error.code
            if isinstance(code, int):
                kind, is_temporary = failure_kind_of_status(code), is_retryable_status(code)
            else:
                kind = _KINDS_BY_CODE.get(str(code), "other")
                is_temporary = str(code) not in _PERMANENT_CODES
            return classify_stream_error(
                str(error), kind, endpoint, error.error, is_temporary=is_temporary
            )
        case httpx2.TimeoutException():
            return classify_timeout(endpoint)
        case httpx2.InvalidURL() | httpx2.UnsupportedProtocol():
            reason = f"the base URL of {endpoint or 'the endpoint'} cannot be used ({error})"
            return ProviderFailure(reason, "request")
        case NoRecordedAnswerError():
            return classify_connection_error(error, endpoint)
        case httpx2.TransportError() if not isinstance(error, httpx2.SSEError):
            return classify_connection_error(error.__cause__ or error, endpoint)
        case _:
            message = shorten_message(str(error))
            reason = f"{endpoint} sent data that its API does not define ({message})"
            return ProviderFailure(reason, "connection", is_temporary=True)


def classify_response(
    response: httpx2.Response, endpoint: str, sign_in_hint: str
) -> ProviderFailure:
    """Classify a response with an error status; its body must have been read."""
    if response.is_redirect:
        return classify_redirect(response.headers.get("location"), endpoint)
    message = extract_message(response)
    wait = parse_retry_after(response.headers.get("retry-after"))
    failure = classify_status(
        response.status_code, message, endpoint, sign_in_hint, wait, _extract_error(response)
    )
    if response.status_code == HTTPStatus.INTERNAL_SERVER_ERROR and failure.overflow is None:
        # Local servers answer 500 when their chat template cannot render the request, e.g. with
        # images. Keep the message, so that the offending field can be omitted.
        return ProviderFailure(failure.reason, failure.kind, True, wait, message)  # noqa: FBT003  is_temporary
    return failure


def extract_message(response: httpx2.Response) -> str:
    """Extract the message of an error response in any of its shapes; else return the status."""
    body = _parse_body(response)
    error = as_object(body).get("error", body)
    detail = as_object(body).get("detail")
    text = error if isinstance(error, str) else as_text(as_object(error).get("message"))
    text = text or (detail if isinstance(detail, str) else as_text(as_object(body).get("message")))
    return text or response.reason_phrase or f"status {response.status_code}"


def _extract_error(response: httpx2.Response) -> Object:
    """Extract the structured error; some endpoints (vLLM) send its fields without a wrapper."""
    body = as_object(_parse_body(response))
    return as_object(body.get("error")) or body


def _parse_body(response: httpx2.Response) -> JsonValue:
    """Parse the body; a text that is not JSON is returned unchanged."""
    try:
        body: JsonValue = response.json()
    except ValueError:
        return response.text
    return body[0] if isinstance(body, list) and body else body  # Gemini wraps it in a list
