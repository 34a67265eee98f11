"""What each failure of an endpoint means: ask again, ask without a field, or tell the user what.

Source: https://docs.anthropic.com/en/api/errors
"""

import re
from dataclasses import dataclass
from http import HTTPStatus

import httpx2
from anthropic import APIConnectionError, APIError, APIStatusError, APITimeoutError

from acp_server.models.anthropic.stream import StreamedError
from acp_server.turn.errors import FailureKind

OVERLOADED = 529
LONGEST_WORDS = 300
"""How much of an endpoint's own words a person is shown, in characters."""
_WORDS: dict[FailureKind, str] = {"rate_limit": "limits the rate", "overloaded": "is overloaded"}
_KINDS_BY_STATUS: dict[int, FailureKind] = {
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit",
    OVERLOADED: "overloaded",
}
_KINDS_BY_TYPE: dict[str, FailureKind] = {
    "rate_limit_error": "rate_limit",
    "overloaded_error": "overloaded",
}
_BUSY_TYPES = {"overloaded_error", "api_error", "rate_limit_error", "timeout_error"}
_BUSY_STATUSES = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_MANY_REQUESTS,
}
_TAG = re.compile(r"<[^<>]*>")
_SIGN_IN_AGAIN = "run `acp-server setup` to store another key, or set ANTHROPIC_API_KEY"


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure, understood.

    Attributes:
        reason: what happened and what to do, for a person.
        kind: what sort of failure it is, for a program.
        is_temporary: whether the same request may work a little later.
        retry_after_seconds: how long the provider asks to wait, if it does.
        refused: the provider's message about a request that it will never take; it may name a
            field to leave out.
    """

    reason: str
    kind: FailureKind
    is_temporary: bool = False
    retry_after_seconds: float | None = None
    refused: str | None = None


def understand(error: Exception, endpoint: str) -> Fault:
    """Return what a failure of the SDK or of its transport means."""
    match error:
        case APIStatusError():
            return _status_fault(error, endpoint)
        case StreamedError():
            return _streamed_fault(error, endpoint)
        case APITimeoutError() | httpx2.TimeoutException():
            return Fault(f"{endpoint} did not answer in time", "connection", is_temporary=True)
        case APIConnectionError() | httpx2.TransportError():
            return _connection_fault(error.__cause__ or error, endpoint)
        case APIError():
            return Fault(f"{endpoint} failed: {error.message}", "other", is_temporary=True)
        case _:
            reason = f"{endpoint} sent what the Messages API does not send ({error})"
            return Fault(reason, "connection", is_temporary=True)


def _connection_fault(cause: BaseException, endpoint: str) -> Fault:
    said = _short(str(cause)) or type(cause).__name__
    reason = f"the connection to {endpoint} failed ({said})"
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return Fault(f"{reason}; set SSL_CERT_FILE to the authority that signed it", "connection")
    return Fault(reason, "connection", is_temporary=True)


def _status_fault(error: APIStatusError, endpoint: str) -> Fault:
    said = _short(error.api_message or error.message)
    match error.status_code:
        case HTTPStatus.UNAUTHORIZED:
            reason = f"{endpoint} refused the credentials: {said}; {_SIGN_IN_AGAIN}"
            return Fault(reason, "authentication")
        case HTTPStatus.FORBIDDEN | HTTPStatus.PAYMENT_REQUIRED:
            return Fault(f"{endpoint} does not permit this: {said}", "permission")
        case HTTPStatus.NOT_FOUND:
            reason = f"{endpoint} does not know it: {said}; choose another model"
            return Fault(reason, "request")
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return Fault(f"the request is too large for {endpoint}: {said}", "request")
        case status if _is_busy(status):
            return _busy(error, said, endpoint)
        case _:
            return Fault(
                f"{endpoint} refused the request: {said}",
                "request",
                refused=error.api_message or said,
            )


def _streamed_fault(error: StreamedError, endpoint: str) -> Fault:
    """Understand an `error` event in mid-stream."""
    kind = _KINDS_BY_TYPE.get(error.kind, "other")
    reason = f"{endpoint} {_WORDS.get(kind, 'broke off')}: {_short(str(error))}"
    return Fault(reason, kind, is_temporary=error.kind in _BUSY_TYPES)


def _is_busy(status: int) -> bool:
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _BUSY_STATUSES


def _busy(error: APIStatusError, said: str, endpoint: str) -> Fault:
    kind = _KINDS_BY_STATUS.get(error.status_code, "other")
    what = _WORDS.get(kind, f"failed ({error.status_code})")
    after = _retry_after(error.response)
    reason = f"{endpoint} {what}: {said}"
    return Fault(reason, kind, is_temporary=True, retry_after_seconds=after)


def _retry_after(response: httpx2.Response) -> float | None:
    try:
        return float(response.headers.get("retry-after", ""))
    except ValueError:
        return None


def _short(text: str) -> str:
    """Return the beginning of what may be a whole web page, on one line, without tags."""
    line = " ".join(_TAG.sub(" ", text).split())
    return line if len(line) <= LONGEST_WORDS else f"{line[:LONGEST_WORDS]} …"
