"""Classifies endpoint failures: retry, retry without a field, or report to the user.

Owns the meaning of HTTP statuses and broken connections for all API formats. Each adapter extracts
the status and the endpoint's message. Imports no SDK.
"""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from math import isfinite

from acp_server.models.overflow import ContextOverflow, find_overflow
from acp_server.models.traffic import NoRecordedAnswerError
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object
from acp_server.turn.errors import FailureKind

OVERLOADED = 529
QUOTA_CODES = frozenset({"insufficient_quota", "billing_error", "credit_balance_exhausted"})
"""Error codes that say so with any status, also 429."""
_QUOTA_PHRASES = (
    "credit balance is too low",
    "exceeded your current quota",
    "insufficient balance",
)
QUOTA_HINT = (
    "add credit or raise the limit in the provider's billing settings, or choose another "
    "provider's model"
)
MAX_MESSAGE_CHARACTERS = 300
"""Characters of an endpoint's own message that are shown to the user."""
_PHRASES: dict[FailureKind, str] = {
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


@frozen_dataclass
class ProviderFailure:
    """A classified endpoint failure.

    Attributes:
        reason: The cause and the next step, for the user.
        kind: The failure's category, for programs.
        is_temporary: Whether the same request may succeed a little later.
        retry_after_seconds: How long the provider asks to wait, if it does.
        rejection_message: The provider's message about a request that it will always reject; it
            may name a field to omit.
        overflow: What the provider says if the request does not fit the context window.
    """

    reason: str
    kind: FailureKind
    is_temporary: bool = False
    retry_after_seconds: float | None = None
    rejection_message: str | None = None
    overflow: ContextOverflow | None = None


def classify_connection_error(cause: BaseException, endpoint: str) -> ProviderFailure:
    """Classify a failed connection; certificate errors are permanent, all others temporary."""
    if isinstance(cause, NoRecordedAnswerError):
        return ProviderFailure(str(cause), "request")
    message = shorten_message(str(cause)) or type(cause).__name__
    reason = f"the connection to {endpoint} failed ({message})"
    if "CERTIFICATE_VERIFY_FAILED" in message:
        return ProviderFailure(
            f"{reason}; set SSL_CERT_FILE to the authority that signed it", "connection"
        )
    return ProviderFailure(reason, "connection", is_temporary=True)


def classify_timeout(endpoint: str) -> ProviderFailure:
    """Classify a timeout."""
    return ProviderFailure(f"{endpoint} did not answer in time", "connection", is_temporary=True)


def classify_status(
    status: int,
    message: str,
    endpoint: str,
    sign_in_hint: str,
    retry_after_seconds: float | None = None,
    error: Object | None = None,
) -> ProviderFailure:
    """Classify an error status.

    `message` is the endpoint's own, or a substitute for it; `error` is its structured error;
    `sign_in_hint` is the advice for rejected credentials.
    """
    shown = shorten_message(message)
    if (overflow := find_overflow(message, error or {}, status)) is not None:
        return _overflow_failure(overflow, shown, endpoint)
    kind: FailureKind = "permission"
    match status:
        case _ if _is_quota_error(status, message, error or {}):
            reason = f"your quota or credit at {endpoint} is used up ({shown}); {QUOTA_HINT}"
        case HTTPStatus.UNAUTHORIZED:
            kind = "authentication"
            reason = f"{endpoint} refused the credentials ({shown}); {sign_in_hint}"
        case HTTPStatus.FORBIDDEN:
            reason = f"{endpoint} does not permit this: {shown}"
        case HTTPStatus.NOT_FOUND:
            kind = "unknown"
            reason = (
                f"{endpoint} answered 404 Not Found: {shown}; choose another model or check the "
                "base URL"
            )
        case _ if is_retryable_status(status):
            kind = failure_kind_of_status(status)
            reason = f"{endpoint} {_PHRASES.get(kind, f'failed ({status})')}: {shown}"
            return ProviderFailure(reason, kind, True, retry_after_seconds)  # noqa: FBT003  is_temporary
        case _:
            reason = f"{endpoint} refused the request: {shown}"
            return ProviderFailure(reason, "request", rejection_message=message)
    return ProviderFailure(reason, kind)


def classify_redirect(location: str | None, endpoint: str) -> ProviderFailure:
    """Classify a redirect, which is not followed; `location` is the address that it names."""
    where = f" to {shorten_message(location)}" if location else ""
    reason = (
        f"{endpoint} redirects{where}, and nothing was sent there; if you trust that address, set "
        "it as the base URL"
    )
    return ProviderFailure(reason, "request")


def classify_stream_error(
    message: str, kind: FailureKind, endpoint: str, error: Object, *, is_temporary: bool
) -> ProviderFailure:
    """Classify an error that the endpoint reported inside the stream."""
    shown = shorten_message(message)
    if (overflow := find_overflow(message, error)) is not None:
        return _overflow_failure(overflow, shown, endpoint)
    reason = f"{endpoint} {_PHRASES.get(kind, 'broke off its answer')}: {shown}"
    return ProviderFailure(reason, kind, is_temporary=is_temporary)


def _is_quota_error(status: int, message: str, error: Object) -> bool:
    """Return whether waiting does not help because a quota or credit is used up."""
    codes = {str(error.get(name)) for name in ("code", "type")}
    return (
        status == HTTPStatus.PAYMENT_REQUIRED
        or bool(codes & QUOTA_CODES)
        or any(phrase in message.lower() for phrase in _QUOTA_PHRASES)
    )


def _overflow_failure(overflow: ContextOverflow, shown: str, endpoint: str) -> ProviderFailure:
    """Return the failure of a request that is too large: only a shorter one can succeed."""
    reason = f"the request is too large for {endpoint}: {shown}"
    return ProviderFailure(reason, "request", overflow=overflow)


def is_retryable_status(status: int) -> bool:
    """Return whether the same request may succeed a little later."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _BUSY_STATUSES


def failure_kind_of_status(status: int) -> FailureKind:
    """Return the failure kind of a retryable status."""
    return _KINDS_BY_STATUS.get(status, "other")


def parse_retry_after(header: str | None) -> float | None:
    """Parse a `retry-after` header, seconds or a date, as seconds from now; None if it is neither.

    A date in the past is 0 seconds.
    """
    try:
        seconds = float(header or "")
    except ValueError:
        return _seconds_until(header or "")
    return seconds if isfinite(seconds) else None


def _seconds_until(date: str) -> float | None:
    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:  # "-0000": UTC, by a server that does not say its own zone
        moment = moment.replace(tzinfo=UTC)
    return max((moment - datetime.now(UTC)).total_seconds(), 0.0)


def shorten_message(text: str) -> str:
    """Return the start of a message on one line, without HTML tags.

    A proxy's error message can be a whole web page.
    """
    line = " ".join(_TAG.sub(" ", text).split())
    return line if len(line) <= MAX_MESSAGE_CHARACTERS else f"{line[:MAX_MESSAGE_CHARACTERS]} …"
