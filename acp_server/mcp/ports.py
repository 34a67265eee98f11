"""Ports of the MCP client: connector, connection, callbacks and limits.

Independent of the SDK: data from servers is raw JSON.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol

import anyio
from pydantic import JsonValue

from acp_server.session.ports.elicitation import Elicitor
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.startup.fast_dataclass import frozen

Json = Mapping[str, JsonValue]
Feature = Literal["tools", "prompts"]


class Progress(Protocol):
    """Callback for the progress of a call."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Receive the progress, its total if known, and a message."""
        ...


class ServerError(Exception):
    """A server cannot be reached, or it answered with an error; `reason` says which.

    `is_answer` means that the server itself answered with the error, so the connection is intact.
    """

    def __init__(self, reason: str, *, is_answer: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_answer = is_answer


@frozen
class Host:
    """Callbacks for a server's requests and notifications."""

    roots: Sequence[Path]
    """The session's workspace roots, absolute, at least one."""
    elicitor: Elicitor
    note_change: Callable[[Feature], None]
    """Called when one of the server's lists has changed."""
    note_output: Callable[[str], None]
    """Called with each line of process output that is not a message."""


class Wire(Protocol):
    """An initialized connection to a server."""

    closed: anyio.Event
    """Set once the connection can send no more requests."""

    @property
    def introduction(self) -> Json:
        """The server's result of `initialize`."""
        ...

    async def request(
        self, method: str, parameters: Json, progress: Progress | None = None
    ) -> Json:
        """Send a request and return its result. Cancelling notifies the server.

        Raises:
            ServerError: The request failed, or the server answered with an error.
        """
        ...


class Sdk(Protocol):
    """Opens connections once the SDK is imported."""

    def connect(self, server: ServerConfig, host: Host) -> AbstractAsyncContextManager[Wire]:
        """Return a context manager that connects on entry and disconnects on exit.

        Raises:
            ServerError: Connecting failed (on entry), or the connection was lost.
        """
        ...

    async def close(self) -> None:
        """Close the resources that the connections shared."""
        ...


Changing = Callable[[], AbstractAsyncContextManager[None]]
"""Returns a context manager for a call that may change the session's files (checkpoints)."""
LoadSdk = Callable[[], Awaitable[Sdk]]


@frozen
class Limits:
    """Timeouts and retry delays of MCP servers."""

    first_call_seconds: float = 3.0
    """How long the first model request waits for connecting servers, in total."""
    connect_seconds: float = 30.0
    call_seconds: float = 120.0
    """How long a call may take without progress from the server."""
    most_call_seconds: float = 3_600.0
    """How long a call may take in total, even with progress."""
    reconnecting_seconds: float = 5.0
    """How long a call waits for a server that is reconnecting."""
    backoff_seconds: Sequence[float] = field(default=(0.5, 2.0, 8.0, 30.0, 60.0))
    """Delays before reconnection attempts; after the last one the server has failed."""
    steady_seconds: float = 60.0
    """A connection that lasted this long resets the count of attempts."""
