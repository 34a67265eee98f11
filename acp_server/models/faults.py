"""What each failure of an endpoint means: ask again, ask without a field, or tell the user what.

Owns the meaning of statuses and broken connections, whatever form is spoken; each adapter finds
out what happened and what the endpoint said of it. Imports no SDK.
"""

import re
from http import HTTPStatus

from acp_server.frozen import frozen
from acp_server.turn.errors import FailureKind

OVERLOADED = 529
LONGEST_WORDS = 300
"""How much of an endpoint's own words a person is shown, in characters."""
_WORDS: dict[FailureKind, str] = {"rate_limit": "limits the rate", "overloaded": "is overloaded"}
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


@frozen
class Answered:
    """An answer with an error status."""

    status: int
    said: str
    """The endpoint's own words, or what stands for them."""
    retry_after_seconds: float | None = None


def connection_fault(cause: BaseException, endpoint: str) -> Fault:
    """Return what a connection that failed means."""
    said = shortened_words(str(cause)) or type(cause).__name__
    reason = f"the connection to {endpoint} failed ({said})"
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return Fault(f"{reason}; set SSL_CERT_FILE to the authority that signed it", "connection")
    return Fault(reason, "connection", is_temporary=True)


def timeout_fault(endpoint: str) -> Fault:
    """Return what an endpoint's silence means."""
    return Fault(f"{endpoint} did not answer in time", "connection", is_temporary=True)


def status_fault(answered: Answered, endpoint: str, sign_in_again: str) -> Fault:
    """Return what an error status means; `sign_in_again` says what to do about a bad key."""
    said = shortened_words(answered.said)
    match answered.status:
        case HTTPStatus.UNAUTHORIZED:
            reason = f"{endpoint} refused the credentials ({said}); {sign_in_again}"
            return Fault(reason, "authentication")
        case HTTPStatus.FORBIDDEN | HTTPStatus.PAYMENT_REQUIRED:
            return Fault(f"{endpoint} does not permit this: {said}", "permission")
        case HTTPStatus.NOT_FOUND:
            reason = f"{endpoint} does not know it: {said}; choose another model"
            return Fault(reason, "unknown")
        case HTTPStatus.REQUEST_ENTITY_TOO_LARGE:
            return Fault(f"the request is too large for {endpoint}: {said}", "request")
        case status if is_busy(status):
            return _busy(answered, said, endpoint)
        case _:
            reason = f"{endpoint} refused the request: {said}"
            return Fault(reason, "request", refused=answered.said)


def streamed_fault(said: str, kind: FailureKind, endpoint: str, *, is_temporary: bool) -> Fault:
    """Return what it means that an endpoint gave up in mid-stream."""
    reason = f"{endpoint} {_WORDS.get(kind, 'broke off')}: {shortened_words(said)}"
    return Fault(reason, kind, is_temporary=is_temporary)


def is_busy(status: int) -> bool:
    """Whether the same request may work a little later."""
    return status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _BUSY_STATUSES


def kind_of_status(status: int) -> FailureKind:
    """Return what sort of failure a busy endpoint's status is."""
    return _KINDS_BY_STATUS.get(status, "other")


def retry_after_seconds(header: str | None) -> float | None:
    """Return what a `retry-after` header asks for, if it is a number of seconds."""
    try:
        return float(header or "")
    except ValueError:
        return None


def shortened_words(text: str) -> str:
    """Return the beginning of what may be a whole web page, on one line, without tags."""
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
