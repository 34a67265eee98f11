"""Recorded requests and the state of their responses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.support.messages_api.cache import Usage
from tests.support.messages_api.parsed_request import Object
from tests.support.messages_api.thinking_history import Drop

Verdict = Literal["answered", "refused", "failed", "unscripted"]
Ending = Literal["sent", "aborted", "left"]

SECRET_HEADERS = {"x-api-key", "authorization"}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """HTTP request as received."""

    method: str
    target: str
    headers: Mapping[str, str]
    """Values by lower-case name."""
    body: bytes | None
    """None if it exceeded the endpoint's `body_limit_bytes`."""


@dataclass(slots=True)
class Sending:
    """Progress of sending a response."""

    ending: Ending | None = None
    when_ended: Callable[[], None] | None = None

    def end(self, ending: Ending) -> None:
        """Record how sending ended and call `on_end`."""
        self.ending = ending
        if self.when_ended is not None:
            self.when_ended()


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """Request with its verdict and response."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Headers without those that carry a key."""
    body: Object
    verdict: Verdict
    """`refused` by the API's rules, `failed` by the script, `unscripted` at the script's end."""
    status: int | None
    """None if the connection was dropped without a response."""
    message: str = ""
    """Error message of a refusal or failure."""
    usage: Usage | None = None
    """Final usage that the response reports."""
    answer: Object | None = None
    """Complete message, even if only a part of it was sent."""
    dropped_thinking: tuple[Drop, ...] = ()
    sending: Sending = field(default_factory=Sending)

    @property
    def ending(self) -> Ending | None:
        """`sent`, `aborted` by a fault, `left` if the client disconnected, None while sending."""
        return self.sending.ending


def without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without those that carry a key."""
    return {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
