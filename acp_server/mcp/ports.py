"""Ports of the MCP client: connector, connection, callbacks, limits and dependencies.

Independent of the SDK: data from servers is raw JSON.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.permissions.gate import Gate
from acp_server.session.ports.elicitation import DecliningElicitor, Elicitor
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.startup.fast_dataclass import frozen_dataclass

Json = Mapping[str, JsonValue]
Feature = Literal["tools", "prompts"]


class ProgressCallback(Protocol):
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


@frozen_dataclass
class ClientCallbacks:
    """Callbacks for a server's requests and notifications."""

    roots: Sequence[Path]
    """The session's workspace roots, absolute, at least one."""
    elicitor: Elicitor
    on_list_changed: Callable[[Feature], None]
    """Called when one of the server's lists has changed."""
    on_output: Callable[[str], None]
    """Called with each line of process output that is not a message."""


class McpConnection(Protocol):
    """An initialized connection to a server."""

    closed: anyio.Event
    """Set once the connection can send no more requests."""

    @property
    def initialize_result(self) -> Json:
        """The server's result of `initialize`."""
        ...

    async def request(
        self, method: str, parameters: Json, progress: ProgressCallback | None = None
    ) -> Json:
        """Send a request and return its result. Cancelling notifies the server.

        Raises:
            ServerError: The request failed, or the server answered with an error.
        """
        ...


class McpConnector(Protocol):
    """Opens connections once the SDK is imported."""

    def connect(
        self, server: ServerConfig, host: ClientCallbacks
    ) -> AbstractAsyncContextManager[McpConnection]:
        """Return a context manager that connects on entry and disconnects on exit.

        Raises:
            ServerError: Connecting failed (on entry), or the connection was lost.
        """
        ...

    async def close(self) -> None:
        """Close the resources that the connections shared."""
        ...


TrackFileChanges = Callable[[], AbstractAsyncContextManager[None]]
"""Returns a context manager for a call that may change the session's files (checkpoints)."""
LoadConnector = Callable[[], Awaitable[McpConnector]]


@frozen_dataclass
class McpLimits:
    """Timeouts and retry delays of MCP servers."""

    first_call_seconds: float = 3.0
    """How long the first model request waits for connecting servers, in total."""
    connect_seconds: float = 30.0
    call_seconds: float = 120.0
    """How long a call may take without progress from the server."""
    max_call_seconds: float = 3_600.0
    """How long a call may take in total, even with progress."""
    reconnect_wait_seconds: float = 5.0
    """How long a call waits for a server that is reconnecting."""
    backoff_seconds: Sequence[float] = field(default=(0.5, 2.0, 8.0, 30.0, 60.0))
    """Delays before reconnection attempts; after the last one the server has failed."""
    stable_seconds: float = 60.0
    """A connection that lasted this long resets the count of attempts."""


InjectionScan = Callable[[str], Sequence[str]]
"""Scans a text for prompt injection; returns the kinds found, usually none."""


def no_scan(text: str) -> Sequence[str]:
    """Find nothing: disables the scan."""
    del text
    return ()


@frozen_dataclass
class McpContext:
    """Dependencies of the servers of a session; the servers run in the task group `tasks`."""

    gate: Gate
    roots: Sequence[Path]
    """The session's workspace roots, absolute; servers are started in the first."""
    tasks: TaskGroup
    load_connector: LoadConnector
    elicitor: Elicitor = field(default_factory=DecliningElicitor)
    scan: InjectionScan = no_scan
    limits: McpLimits = field(default_factory=McpLimits)
    tracking_file_changes: TrackFileChanges = nullcontext
    """Wraps the calls of all tools except those annotated as read-only."""
    reserved_names: Sequence[str] = ()
    """The names of the session's own tools."""
    outputs: SavedOutputs | None = None
    """Keeps results that are too long for the conversation."""
