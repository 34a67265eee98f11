"""Scripted failures: error statuses as the API and its reverse proxy send them.

https://platform.claude.com/docs/en/api/errors
"""

import json
from dataclasses import dataclass

from tests.support.messages_api.refusals import ErrorType, MessagesApiRefusal, error_body

HTML = "text/html; charset=UTF-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class HttpFailure:
    """Response with an error status."""

    status: int
    body: bytes | None = None
    """Body in another format than the API's errors; None for JSON of `type` and `message`."""
    type: ErrorType = "api_error"
    message: str = "Internal server error"
    content_type: str = JSON
    retry_after_seconds: float | None = None
    delay_seconds: float = 0
    retry_after_date: str | None = None
    """Value of `retry-after` as an HTTP date."""
    location: str | None = None
    """The address of a redirect."""
    fast_mode_limit: int | None = None
    """Tokens per minute in fast mode, in the headers of a limited request; 0 without access."""

    @property
    def headers(self) -> list[tuple[str, str]]:
        """The headers `retry-after` and `location`, if there are any."""
        value = self.retry_after_date
        if self.retry_after_seconds is not None:
            value = f"{self.retry_after_seconds:g}"
        limit = None if self.fast_mode_limit is None else str(self.fast_mode_limit)
        headers = {
            "retry-after": value,
            "location": self.location,
            "anthropic-fast-input-tokens-limit": limit,
            "anthropic-fast-output-tokens-limit": limit,
        }
        return [(name, value) for name, value in headers.items() if value is not None]

    def body_for(self, request_id: str) -> bytes:
        """Return the body; an API error contains the request id."""
        if self.body is not None:
            return self.body
        return json.dumps(error_body(self.type, self.message, request_id)).encode()


@dataclass(frozen=True, slots=True)
class DroppedConnection:
    """Turn that drops the connection before the response head."""

    delay_seconds: float = 0


def to_failure(refusal: MessagesApiRefusal) -> HttpFailure:
    """Return a refusal as a failure."""
    return HttpFailure(refusal.status, type=refusal.type, message=refusal.message)


def bad_request(message: str) -> HttpFailure:
    """Return 400 with this message."""
    return HttpFailure(400, type="invalid_request_error", message=message)


def unauthorized() -> HttpFailure:
    """Return 401."""
    return HttpFailure(401, type="authentication_error", message="invalid x-api-key")


def forbidden() -> HttpFailure:
    """Return 403."""
    message = "Your API key does not have permission to use the specified resource."
    return HttpFailure(403, type="permission_error", message=message)


def not_found(model: str) -> HttpFailure:
    """Return 404 for a model."""
    return HttpFailure(404, type="not_found_error", message=f"model: {model}")


def too_large() -> HttpFailure:
    """Return 413, which the reverse proxy sends."""
    return HttpFailure(413, type="request_too_large", message="Request exceeds the maximum size")


def rate_limited(retry_after_seconds: float | None = None) -> HttpFailure:
    """Return 429, with or without `retry-after`."""
    return HttpFailure(
        429,
        type="rate_limit_error",
        message=(
            "This request would exceed your organization's rate limit of 50 requests per minute. "
            "For details, refer to: https://docs.claude.com/en/api/rate-limits."
        ),
        retry_after_seconds=retry_after_seconds,
    )


def fast_mode_limited(
    limit: int = 2_000_000, retry_after_seconds: float | None = None
) -> HttpFailure:
    """Return 429 for a request in fast mode; with a limit of 0 the organization has no access."""
    return HttpFailure(
        429,
        type="rate_limit_error",
        message=(
            f"This request would exceed your organization's rate limit of {limit} fast mode input "
            "tokens per minute."
        ),
        retry_after_seconds=retry_after_seconds,
        fast_mode_limit=limit,
    )


def server_error() -> HttpFailure:
    """Return 500."""
    return HttpFailure(500)


def bad_gateway() -> HttpFailure:
    """Return 502 with an HTML page, as a reverse proxy sends it."""
    page = b"<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body></body>\r\n</html>\r\n"
    return HttpFailure(502, page, content_type=HTML)


def unavailable() -> HttpFailure:
    """Return 503 with a short plain text."""
    return HttpFailure(
        503, b"upstream connect error or disconnect/reset", content_type="text/plain"
    )


def overloaded() -> HttpFailure:
    """Return 529."""
    return HttpFailure(529, type="overloaded_error", message="Overloaded")
