"""What the life of a server needs of the world: a connection to it, and somebody to ask.

Knows no SDK. What a server sends comes as the JSON that it is.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import Literal, Protocol

import anyio
from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.session.elicitation import Elicitor
from acp_server.session.server_configs import ServerConfig

Json = Mapping[str, JsonValue]
Feature = Literal["tools", "prompts"]


class Progress(Protocol):
    """Hears of how far a call is."""

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        """Take how far it is, what the whole is, and a word about it."""
        ...


class ServerError(Exception):
    """A server that cannot be reached, or that answered with an error; the text says which.

    `is_answer`: the server itself has answered so, and is well otherwise.
    """

    def __init__(self, reason: str, *, is_answer: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_answer = is_answer


@frozen
class Host:
    """What a server may ask of us, and what it may tell."""

    roots: Sequence[Path]
    """The session's folders, absolute, at least one."""
    elicitor: Elicitor
    note_change: Callable[[Feature], None]
    """Called when a list of the server's has changed."""
    note_output: Callable[[str], None]
    """Called with each line that a process prints and that is no message."""


class Wire(Protocol):
    """A live connection to a server, which has introduced itself."""

    closed: anyio.Event
    """Set once nothing can be asked over it any more."""

    @property
    def introduction(self) -> Json:
        """The server's answer to `initialize`."""
        ...

    async def request(
        self, method: str, parameters: Json, progress: Progress | None = None
    ) -> Json:
        """Ask. Cancelling tells the server that nobody waits any more.

        Raises:
            ServerError: there is no answer, or it is an error.
        """
        ...


class Sdk(Protocol):
    """What can be done once the SDK is there."""

    def connect(self, server: ServerConfig, host: Host) -> AbstractAsyncContextManager[Wire]:
        """Return a connection, which is made on entering and ended on leaving.

        Raises, on entering:
            ServerError: there is none, or it is lost.
        """
        ...

    async def close(self) -> None:
        """End what the connections shared."""
        ...


Changing = Callable[[], AbstractAsyncContextManager[None]]
"""Returns what stands around a call that may change the session's files."""
LoadSdk = Callable[[], Awaitable[Sdk]]


@frozen
class Limits:
    """How long things may take and how much of them there may be."""

    first_call_seconds: float = 3.0
    """How long the first call of the model waits for servers that still connect, all in all."""
    connect_seconds: float = 30.0
    call_seconds: float = 120.0
    """How long a call may take without a word from the server."""
    most_call_seconds: float = 3_600.0
    """How long it may take in all, however much the server says."""
    reconnecting_seconds: float = 5.0
    """How long a call waits for a server that is being reconnected."""
    backoff_seconds: Sequence[float] = field(default=(0.5, 2.0, 8.0, 30.0, 60.0))
    """The pauses before attempts to reconnect; after the last, there is none any more."""
    steady_seconds: float = 60.0
    """A connection that held so long has its attempts given back."""
