"""Classifies endpoint failures: retry, retry without a field, or report to the user.

Owns the meaning of HTTP statuses and broken connections for all API formats. Each adapter extracts
the status and the endpoint's message. Imports no SDK.
"""

import re
from http import HTTPStatus

from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.errors import FailureKind

OVERLOADED = 529
LONGEST_WORDS = 300
"""Characters of an endpoint's own message that are shown to the user."""
_WORDS: dict[FailureKind, str] = {
    "rate_limit": "is limiting your request rate",
    "overloaded": "is overloaded",
}
_KINDS_BY_STATUS: dict[int, FailureKind] = {
    HTTPStatus.TOO_MANY_REQUESTS: "rate_limit",
    OVERLOADED: "overloaded",
}
_BUSY_STATUSES = {
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.CONFLICT,
    HTTPStatus.TOO_MANY_REQUESTS,
}
_TAG = re.compile(r"<[^<>]*>")


@frozen
class Fault:
    """A classified endpoint failure.

    Attributes:
        reason: The cause and the next step, for the user.
        kind: The failure's category, for programs.
        is_temporary: Whether the same request may succeed a little later.
        retry_after_seconds: How long the provider asks to wait, if it does.
        rejection_message: The provider's message about a request that it will always reject; it
            may name a field to omit.
    """

    reason: str
    kind: FailureKind
    is_temporary: bool = False
    retry_after_seconds: float | None = None
    refused: str | None = None


@frozen
class Answered:
    """A response with an error status."""

    status: int
    said: str
    """The endpoint's own message, or a substitute for it."""
    retry_after_seconds: float | None = None


def connection_fault(cause: BaseException, endpoint: str) -> Fault:
    """Classify a failed connection; certificate errors are permanent, all others temporary."""
    said = shortened_words(str(cause)) or type(cause).__name__
    reason = f"the connection to {endpoint} failed ({said})"
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return Fault(f"{reason}; set SSL_CERT_FILE to the authority that signed it", "connection")
    return Fault(reason, "connection", is_temporary=True)


def timeout_fault(endpoint: str) -> Fault:
    """Classify a timeout."""
    return Fault(f"{endpoint} did not answer in time", "connection", is_temporary=True)


def status_fault(answered: Answered, endpoint: str, sign_in_again: str) -> Fault:
    """Classify an error status.

    `sign_in_hint` is the advice for rejected credentials.
    """
    said = shortened_words(answered.said)
    match answered.status:
        case HTTPStatus.UNAUTHORIZED:
            reason = f"{endpoint} refused the credentials ({said}); {sign_in_again}"
            return Fault(reason, "authentication")
        case HTTPStatus.FORBIDDEN | HTTPStatus.PAYMENT_REQUIRED:
            return Fault(f"{endpoint} does not permit this: {said}", "permission")
        case HTTPStatus.NOT_FOUND:
            reason = (
                f"{endpoint} answered 404 Not Found: {said}; choose another model or check the "
                "base URL"
            )
            return Fault(reason, "unknown")
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return Fault(f"the request is too large for {endpoint}: {said}", "request")
        case status if is_busy(status):
            return _busy(answered, said, endpoint)
        case _:
            reason = f"{endpoint} refused the request: {said}"
            return Fault(reason, "request", refused=answered.said)


def streamed_fault(said: str, kind: FailureKind, endpoint: str, *, is_temporary: bool) -> Fault:
    """Classify an error that the endpoint reported inside the stream."""
    reason = f"{endpoint} {_WORDS.get(kind, 'broke off its answer')}: {shortened_words(said)}"
    return Fault(reason, kind, is_temporary=is_temporary)


def is_busy(status: int) -> bool:
    """Return whether the same request may succeed a little later."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _BUSY_STATUSES


def kind_of_status(status: int) -> FailureKind:
    """Return the failure kind of a retryable status."""
    return _KINDS_BY_STATUS.get(status, "other")


def retry_after_seconds(header: str | None) -> float | None:
    """Parse a `retry-after` header; None unless it is a number of seconds."""
    try:
        return float(header or "")
    except ValueError:
        return None


def shortened_words(text: str) -> str:
    """Return the start of a message on one line, without HTML tags.

    A proxy's error message can be a whole web page.
    """
    line = " ".join(_TAG.sub(" ", text).split())
    return line if len(line) <= LONGEST_WORDS else f"{line[:LONGEST_WORDS]} …"


def _busy(answered: Answered, said: str, endpoint: str) -> Fault:
    kind = kind_of_status(answered.status)
    what = _WORDS.get(kind, f"failed ({answered.status})")
    return Fault(
        f"{endpoint} {what}: {said}",
        kind,
        is_temporary=True,
        retry_after_seconds=answered.retry_after_seconds,
    )
