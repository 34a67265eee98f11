"""What came in over the wire, and what became of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from tests.support.messages_api.asking import Object
from tests.support.messages_api.cache import Usage
from tests.support.messages_api.history import Drop

Verdict = Literal["answered", "refused", "failed", "unscripted"]
Ending = Literal["sent", "aborted", "left"]

SECRET_HEADERS = {"x-api-key", "authorization"}


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as it came over the wire."""

    method: str
    target: str
    headers: Mapping[str, str]
    """By names in lower case."""
    body: bytes | None
    """None when it was larger than the endpoint takes."""


@dataclass(slots=True)
class Sending:
    """How far the sending of an answer has come."""

    ending: Ending | None = None
    when_ended: Callable[[], None] | None = None

    def end(self, ending: Ending) -> None:
        """Note how it ended."""
        self.ending = ending
        if self.when_ended is not None:
            self.when_ended()


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request and what became of it."""

    method: str
    path: str
    headers: Mapping[str, str]
    """All but those with a key."""
    body: Object
    verdict: Verdict
    """`refused` by the rules, `failed` or `unscripted` by the script."""
    status: int | None
    """None when the connection was dropped without an answer."""
    message: str = ""
    """What a refusal says."""
    usage: Usage | None = None
    """What an answer says that it costs in the end."""
    answer: Object | None = None
    """The whole message, however little of it was sent."""
    dropped_thinking: tuple[Drop, ...] = ()
    sending: Sending = field(default_factory=Sending)

    @property
    def ending(self) -> Ending | None:
        """`sent`, `aborted` by a fault, `left` by the client, or None while it is being sent."""
        return self.sending.ending


def without_keys(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers that may be shown."""
    return {name: value for name, value in headers.items() if name not in SECRET_HEADERS}
