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

from acp_server.mcp.project_files import FileServers
from acp_server.permissions.gate import Gate
from acp_server.session.ports.client_servers import ClientServerChannel
from acp_server.session.ports.elicitation import DecliningElicitor, Elicitor
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Message

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


class SignInRequiredError(ServerError):
    """A server wants the user to sign in, or the sign-in failed; `reason` says which."""


@frozen_dataclass
class SignInPage:
    """A web page on which the user signs in to a server."""

    url: str
    host: str
    """The host of the page, which need not be the server's."""
    port: int
    """The port of this machine that the page leads back to."""


class SignInPrompt(Protocol):
    """Lets the user sign in to a server."""

    async def show(self, page: SignInPage) -> None:
        """Show the page to the user, and return without waiting for the sign-in.

        Raises:
            ServerError: The user declined.
        """
        ...


def no_prompt() -> None:
    """Return that the user has requested no sign-in."""


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
    sample: Callable[[Json], Awaitable[Json]] | None = None
    """Answers `sampling/createMessage`, or raises ServerError; None if the server may not ask."""
    sign_in_prompt: Callable[[], SignInPrompt | None] = no_prompt
    """Returns the prompt of the sign-in that the user has requested, while it is under way."""


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


class ServerAccount(Protocol):
    """The user's sign-in to one server, shared by all sessions."""

    @property
    def is_signed_in(self) -> bool:
        """Whether the user is signed in, as far as this process knows."""
        ...

    @property
    def secrets(self) -> Sequence[str]:
        """Tokens that no text may show."""
        ...

    @property
    def signed_in(self) -> anyio.Event:
        """Set at the next sign-in in any session."""
        ...

    async def has_sign_in(self) -> bool:
        """Return whether there is a sign-in to sign out of, also one whose tokens were refused."""
        ...

    async def sign_out(self) -> None:
        """Revoke and delete the tokens.

        Raises:
            ServerError: They cannot be deleted.
        """
        ...


class McpConnector(Protocol):
    """Opens connections once the SDK is imported."""

    def connect(
        self, server: ServerConfig, host: ClientCallbacks
    ) -> AbstractAsyncContextManager[McpConnection]:
        """Return a context manager that connects on entry and disconnects on exit.

        Raises:
            SignInRequiredError: The user must sign in, or has not done so.
            ServerError: Connecting failed (on entry), or the connection was lost.
        """
        ...

    def account(self, server: ServerConfig) -> ServerAccount | None:
        """Return the user's account at a server; None if the server can have none."""
        ...

    async def close(self) -> None:
        """Close the resources that the connections shared."""
        ...


class AskModel(Protocol):
    """Asks the session's model, outside the conversation; its usage counts for the session."""

    async def __call__(self, messages: Sequence[Message], instructions: str) -> tuple[str, str]:
        """Return the answer and the model's name.

        Raises:
            ServerError: The model could not be asked, or failed.
        """
        ...


TrackFileChanges = Callable[[], AbstractAsyncContextManager[None]]
"""Returns a context manager for a call that may change the session's files (checkpoints)."""
LoadConnector = Callable[[], Awaitable[McpConnector]]


@frozen_dataclass
class McpLimits:
    """Timeouts and retry delays of MCP servers."""

    first_call_seconds: float = 3.0
    """How long the first model request waits for connecting servers, in total."""
    is_unattended: bool = False
    """Whether no user watches: `/mcp` waits as well, and servers that are late are reported."""
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


def ignore_notice(text: str) -> None:
    """Drop a notice for the user."""
    del text


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
    channel: ClientServerChannel | None = None
    """Carries messages to servers of the client; None if it can provide none."""
    scan: InjectionScan = no_scan
    limits: McpLimits = field(default_factory=McpLimits)
    tracking_file_changes: TrackFileChanges = nullcontext
    """Wraps the calls of all tools except those annotated as read-only."""
    reserved_names: Sequence[str] = ()
    """The names of the session's own tools."""
    ask_model: AskModel | None = None
    """None if servers may not ask the model."""
    notify_user: Callable[[str], None] = ignore_notice
    """Shows a notice to the user, now or with the next turn."""
    read_server_files: Callable[[], FileServers] = FileServers
    """Reads the servers that files of the workspace configure. Blocks."""
    outputs: SavedOutputs | None = None
    """Keeps results that are too long for the conversation."""
