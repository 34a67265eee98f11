"""Recorded requests and the state of their responses."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.support.messages_api.cache import ApiUsage
from tests.support.messages_api.parsed_request import Object
from tests.support.messages_api.thinking_history import DroppedThinking

RequestVerdict = Literal["answered", "refused", "failed", "unscripted"]
SendResult = Literal["sent", "aborted", "left"]

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
class SendState:
    """Progress of sending a response."""

    result: SendResult | None = None
    on_end: Callable[[], None] | None = None

    def mark_ended(self, ending: SendResult) -> None:
        """Record how sending ended and call `on_end`."""
        self.result = ending
        if self.on_end is not None:
            self.on_end()


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """Request with its verdict and response."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Headers without those that carry a key."""
    body: Object
    verdict: RequestVerdict
    """`refused` by the API's rules, `failed` by the script, `unscripted` at the script's end."""
    status: int | None
    """None if the connection was dropped without a response."""
    message: str = ""
    """Error message of a refusal or failure."""
    usage: ApiUsage | None = None
    """Final usage that the response reports."""
    answer: Object | None = None
    """Complete message, even if only a part of it was sent."""
    dropped_thinking: tuple[DroppedThinking, ...] = ()
    send_state: SendState = field(default_factory=SendState)

    @property
    def send_result(self) -> SendResult | None:
        """`sent`, `aborted` by a fault, `left` if the client disconnected, None while sending."""
        return self.send_state.result


def redact_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers without those that carry a key."""
    return {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
