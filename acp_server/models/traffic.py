"""Port for recorders and replayers of model traffic. Imports no HTTP client."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import httpx2


class ModelTraffic(Protocol):
    """A recorder of model traffic, or a replayer that answers in place of the endpoint."""

    @property
    def endpoint_name(self) -> str:
        """Name in messages; empty for the endpoint's own name."""
        ...

    def transport(self) -> "httpx2.AsyncBaseTransport | None":
        """Return the transport to use; None for the network."""
        ...

    def response_hooks(self) -> "list[Callable[[httpx2.Response], Awaitable[None]]]":
        """Return the hooks to call with each response before its body is read."""
        ...


class RecordingError(ValueError):
    """A recording that cannot be read; the text is for the user."""


class NoRecordedAnswerError(ValueError):
    """A request that a recording cannot answer; the text is for the user."""
