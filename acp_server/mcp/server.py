"""Lifecycle of one server: connect, follow list changes, reconnect, give up.

Owns the server's state and features. Knows no tools and no session. Sessions do not share servers,
even with equal configurations.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from typing import Literal, Protocol

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.mcp.call_timeouts import CallTimeouts
from acp_server.mcp.client_connector import ClientConnector
from acp_server.mcp.failure_notices import FailureNotices
from acp_server.mcp.features import ServerFeatures, parse_prompts, parse_tools
from acp_server.mcp.ports import (
    ClientCallbacks,
    InjectionScan,
    Json,
    McpConnection,
    McpConnector,
    McpContext,
    ProgressCallback,
    ServerAccount,
    ServerError,
    SignInPrompt,
    SignInRequiredError,
)
from acp_server.mcp.redaction import Redaction, make_redaction
from acp_server.mcp.sampling import Sampling
from acp_server.permissions.gate import Gate
from acp_server.session.ports.mcp_configs import (
    ClientServerConfig,
    HttpServerConfig,
    ServerConfig,
)
from acp_server.text.json_values import as_list, as_object, as_text
from acp_server.text.lines import to_single_line
from acp_server.tools.call_reporter import CallReporter

logger = logging.getLogger(__name__)

ServerState = Literal["connecting", "connected", "reconnecting", "signed_out", "failed", "closed"]
"""`signed_out`: waiting until the user signs in."""

_NO_ANSWER = (
    "no answer within {seconds:g} s; it was told to stop, and whether it has done anything is not "
    "known"
)

CANCELLED = "the sign-in was cancelled"
SAMPLING_CANCELLED = "the request was cancelled"
NO_SIGN_IN = "it is connected, and wants no sign-in"
SIGNED_IN = "you are signed in already; sign out first to use another account"
NOT_SIGNED_IN = "you are not signed in"
HAS_HEADER = "its settings sign in by a header, or say that it wants no sign-in"
CLIENT_SIGNS_IN = "the editor provides it, and signs in if need be"
NO_REMOTE = "it is a program of this machine, which has no sign-in"
MAX_LINES = 20
MAX_LINE_CHARACTERS = 300
MAX_REASON_CHARACTERS = 500
MAX_PAGES = 50
MIN_REFETCH_SECONDS = 0.2
"""The least delay between two fetches of the lists: limits servers that notify all the time."""


class Server:
    """One server of one session."""

    def __init__(
        self, config: ServerConfig, context: McpContext, on_change: Callable[[], None]
    ) -> None:
        """Prepare; `on_change` is called at each change of state or features."""
        self.config = config
        self.state: ServerState = "connecting"
        self.problem = ""
        """The reason why the server is not connected, without secrets."""
        self.state_since = anyio.current_time()
        """The time of the last state change, in seconds of the event loop's clock."""
        self.features = ServerFeatures()
        """The features at the last fetch."""
        self.left_out: tuple[str, ...] = ()
        """Tools that the model is not told of: those of all servers would be too long."""
        self.settled = anyio.Event()
        """Set once the first connection attempt has ended, successfully or not."""
        self._redaction = make_redaction(config)
        self._output: deque[str] = deque(maxlen=MAX_LINES)
        self._limits = replace(
            context.limits,
            connect_seconds=config.timeouts.connect_seconds or context.limits.connect_seconds,
            call_seconds=config.timeouts.call_seconds or context.limits.call_seconds,
        )
        self._context = context
        self._account: ServerAccount | None = None
        self._attempt: _SignInAttempt | None = None
        """The sign-in that the user has requested."""
        self._is_sign_in_needed = False
        self._on_change = on_change
        self._failure_notices = FailureNotices(config.name, context.notify_user)
        self._timeouts = CallTimeouts(self._limits, context.elicitor)
        self._sampling = _make_sampling(config, context)
        self._connection: McpConnection | None = None
        self._state_changed = anyio.Event()
        self._list_changed = anyio.Event()
        self._shutting_down = anyio.Event()
        self._retry_requested = anyio.Event()

    @property
    def name(self) -> str:
        """The configured name."""
        return self.config.name

    @property
    def connect_seconds(self) -> float:
        """The timeout for connecting and initializing."""
        return self._limits.connect_seconds

    @property
    def redact(self) -> Redaction:
        """Removes the server's secrets from texts."""
        return self._redaction.extended(() if self._account is None else self._account.secrets)

    @property
    def _is_of_client(self) -> bool:
        return isinstance(self.config, ClientServerConfig)

    @property
    def is_signed_in(self) -> bool:
        """Whether the user is signed in to the server."""
        return self._account is not None and self._account.is_signed_in

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines of process output that are not messages, without secrets."""
        return tuple(self._output)

    async def _fetch_features(self, connection: McpConnection) -> ServerFeatures:
        features = await _fetch_features(connection, self.name, self._context.scan)
        return features.filtered(self.config.filter)

    def _callbacks(self) -> ClientCallbacks:
        return ClientCallbacks(
            self._context.roots,
            self._timeouts,
            # Both lists are short and usually change together: fetch both.
            on_list_changed=lambda _feature: self._list_changed.set(),
            on_output=self._on_output,
            sample=None if self._sampling is None else self._sample,
            sign_in_prompt=lambda: self._attempt and self._attempt.prompt,
        )

    async def run(self) -> None:
        """Keep the server connected until `shut_down`."""
        try:
            connector = await self._find_connector()
            self._account = connector.account(self.config)
            await self._keep_connected(connector)
        except ImportError as error:
            self.problem = f"the MCP SDK cannot be loaded: {error}"
        finally:
            self._set_state("closed")

    async def _find_connector(self) -> McpConnector:
        if self._is_of_client and self._context.channel is not None:
            return ClientConnector(self._context.channel)
        return await self._context.load_connector()

    def shut_down(self) -> None:
        """Request the end of `run`; returns at once."""
        self._shutting_down.set()

    def retry(self) -> None:
        """Reconnect a failed server in the background; `settled` is reset until it has ended."""
        if self.state in {"failed", "signed_out"}:
            self.settled = anyio.Event()
            self._retry_requested.set()
            self._set_state("connecting")

    def restart(self) -> None:
        """Connect anew in the background, at once; the process of a local server is replaced."""
        if self.state in {"failed", "signed_out"}:
            self.retry()
        elif self.state in {"connected", "reconnecting"}:
            self._retry_requested.set()
            if self._connection is not None:
                self._connection.closed.set()

    async def sign_in(self, prompt: SignInPrompt) -> None:
        """Connect, and let the user sign in for that. Cancelling ends the sign-in.

        Raises:
            ServerError: The server wants no sign-in, or the sign-in failed.
        """
        remote = self.config if isinstance(self.config, HttpServerConfig) else None
        config = None if remote is None else remote.sign_in_config
        if config is None:
            reason = NO_REMOTE if remote is None else HAS_HEADER
            raise ServerError(CLIENT_SIGNS_IN if self._is_of_client else reason)
        await self._wait_until_settled()  # an attempt to connect without a prompt
        if self._connection is not None:
            raise ServerError(SIGNED_IN if self.is_signed_in else NO_SIGN_IN)
        attempt = self._attempt = _SignInAttempt(prompt, config.page_seconds)
        self.retry()
        try:
            await self._wait_until_settled()
        finally:
            self._attempt = None
            if self.state == "connecting":
                attempt.scope.cancel()
        if self.problem:
            raise ServerError(self.problem)

    async def sign_out(self) -> None:
        """Forget the sign-in, and connect without it.

        Raises:
            ServerError: There is no sign-in, or it cannot be deleted.
        """
        await self._wait_until_settled()
        if self._account is None or not await self._account.has_sign_in():
            raise ServerError(NOT_SIGNED_IN)
        await self._account.sign_out()
        self._failure_notices.mark_sign_in()  # the user knows that another one is needed
        if self._connection is not None:
            self._connection.closed.set()
        self.retry()

    async def _wait_until_settled(self) -> None:
        while self.state in {"connecting", "reconnecting"}:
            await self._state_changed.wait()

    async def request(
        self, method: str, parameters: Json, on_progress: ProgressCallback | None = None
    ) -> Json:
        """Send a request and return its result; waits briefly if the server is reconnecting.

        `on_progress` receives progress notifications.

        Raises:
            ServerError: The request failed or timed out, or the server answered with an error.
        """
        connection = await self._wait_for_connection()
        with self._timeouts.limit_call() as clock:

            async def restart_and_report(
                progress: float, total: float | None, message: str | None
            ) -> None:
                clock.restart()
                if on_progress is not None:
                    await on_progress(progress, total, message)

            try:
                return await connection.request(method, parameters, restart_and_report)
            except ServerError as error:
                raise self._redact_error(error) from error
        raise ServerError(_NO_ANSWER.format(seconds=self._limits.call_seconds))

    def sampling_during(self, reporter: CallReporter, gate: Gate) -> AbstractContextManager[None]:
        """Return a context in which the server may ask the model, if the user permits it."""
        sampling = self._sampling
        return nullcontext() if sampling is None else sampling.allowed_during(reporter, gate)

    async def _sample(self, request: Json) -> Json:
        if self._sampling is None:
            raise ServerError(SAMPLING_CANCELLED)
        answer = await self._timeouts.pause_while(partial(self._sampling.answer, request), None)
        if answer is None:
            raise ServerError(SAMPLING_CANCELLED)
        return answer

    async def _keep_connected(self, connector: McpConnector) -> None:
        delays = self._limits.backoff_seconds
        retries = 0
        while not self._shutting_down.is_set():
            started_seconds = anyio.current_time()
            was_connected = await self._connect_once(connector)
            if self._shutting_down.is_set():
                return
            if self._retry_requested.is_set():
                self._retry_requested, retries = anyio.Event(), 0
                continue
            if (
                was_connected
                and anyio.current_time() - started_seconds > self._limits.stable_seconds
            ):
                retries = 0
            # A first connection that fails is not retried: a wrong configuration stays wrong.
            can_retry = (was_connected or retries) and retries < len(delays)
            if can_retry and not self._is_sign_in_needed:
                self._set_state("reconnecting")
                with anyio.move_on_after(delays[retries]):
                    await _wait_for_any(self._shutting_down, self._retry_requested)
                self._retry_requested = anyio.Event()
                retries += 1
            else:
                retries = 0
                if self._is_sign_in_needed:
                    self._failure_notices.add_sign_in(self.problem)
                    self._set_state("signed_out")
                else:
                    self._failure_notices.add(self.problem, self.output)
                    self._set_state("failed")
                await _wait_for_any(self._shutting_down, *self._reasons_to_retry())
                self._retry_requested = anyio.Event()

    def _reasons_to_retry(self) -> Iterator[anyio.Event]:
        yield self._retry_requested
        if self._account is not None and self._is_sign_in_needed:
            yield self._account.signed_in

    async def _connect_once(self, connector: McpConnector) -> bool:
        """Connect and stay connected; return whether connecting succeeded."""
        if self.state != "reconnecting":
            self._set_state("connecting")
        self._is_sign_in_needed = False
        try:
            await self._stay_connected(connector)
        except SignInRequiredError as error:
            self._is_sign_in_needed = True
            self.problem = self._redact_error(error).reason
        except ServerError as error:
            self.problem = self._redact_error(error).reason
        except TimeoutError:
            seconds = self._limits.connect_seconds
            self.problem = f"it did not introduce itself within {seconds:g} s"
        return self.state == "connected"

    async def _stay_connected(self, connector: McpConnector) -> None:
        """Connect and wait until the connection is lost or the server is shut down."""
        attempt = self._attempt
        if attempt is None:
            await self._connect_and_wait(connector, self._limits.connect_seconds)
            return
        with attempt.scope:
            # The page has its own time limit, which this one is longer than.
            seconds = self._limits.connect_seconds + attempt.page_seconds
            await self._connect_and_wait(connector, seconds)
            return
        raise SignInRequiredError(CANCELLED)

    async def _connect_and_wait(self, connector: McpConnector, connect_seconds: float) -> None:
        with anyio.fail_after(connect_seconds) as timeout_scope:
            async with connector.connect(self.config, self._callbacks()) as connection:
                self.features = await self._fetch_features(connection)
                # Connected: the timeout must not end the connection.
                timeout_scope.deadline = math.inf
                self._connection, self.problem = connection, ""
                self._failure_notices.reset()
                self._set_state("connected")
                try:
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._follow_changes, connection)
                        await _wait_for_any(connection.closed, self._shutting_down)
                        tasks.cancel_scope.cancel()
                finally:
                    self._connection = None
        if not self._shutting_down.is_set():
            self.problem = "the connection was lost"

    async def _follow_changes(self, connection: McpConnection) -> None:
        while True:
            await self._list_changed.wait()
            # Reset before fetching: a change during the fetch must cause another fetch.
            self._list_changed = anyio.Event()
            try:
                with anyio.move_on_after(self._limits.connect_seconds):
                    self.features = await self._fetch_features(connection)
            except ServerError as error:
                logger.info(
                    "could not reload a changed MCP server list: %s", self._redact_error(error)
                )
            self._on_change()
            await anyio.sleep(MIN_REFETCH_SECONDS)

    async def _wait_for_connection(self) -> McpConnection:
        with anyio.move_on_after(self._limits.reconnect_wait_seconds):
            while True:
                # It may be lost already, although `_stay_connected` has not noticed yet.
                if self._connection is not None and not self._connection.closed.is_set():
                    return self._connection
                if self.state in {"signed_out", "failed", "closed"}:
                    break
                await self._state_changed.wait()
        reason = f": {self.problem}" if self.problem else ""
        message = f"the server is not connected{reason}; /mcp shows more"
        raise ServerError(message)

    def _set_state(self, state: ServerState) -> None:
        self.state, self.state_since = state, anyio.current_time()
        if state in {"connected", "signed_out", "failed", "closed"}:
            self.settled.set()
        # Wake all waiters, then replace the event: an event cannot be cleared.
        self._state_changed.set()
        self._state_changed = anyio.Event()
        self._on_change()

    def _on_output(self, line: str) -> None:
        line = "".join(each if each.isprintable() else " " for each in self.redact(line))
        self._output.append(to_single_line(line, MAX_LINE_CHARACTERS))

    def _redact_error(self, error: ServerError) -> ServerError:
        reason = to_single_line(self.redact(error.reason), MAX_REASON_CHARACTERS)
        return ServerError(reason, is_answer=error.is_answer)


def _make_sampling(config: ServerConfig, context: McpContext) -> Sampling | None:
    """Return what answers a server's sampling requests; None if it may make none."""
    if context.ask_model is None or not config.sampling.is_enabled:
        return None
    return Sampling(config, context.ask_model)


class _SignInAttempt:
    """A sign-in that the user has requested."""

    def __init__(self, prompt: SignInPrompt, page_seconds: float) -> None:
        self.prompt = prompt
        self.page_seconds = page_seconds
        self.scope = anyio.CancelScope()


async def _wait_for_any(*events: anyio.Event) -> None:
    """Wait until one of the events is set."""
    async with anyio.create_task_group() as tasks:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        for event in events:
            tasks.start_soon(wait, event)


async def _fetch_features(
    connection: McpConnection, server: str, scan: InjectionScan
) -> ServerFeatures:
    """Fetch a server's features; if listing the prompts fails, there are none."""
    capabilities = as_object(connection.initialize_result.get("capabilities"))
    has_resources = "resources" in capabilities
    entries = (
        await fetch_all_pages(connection, "tools/list", "tools") if "tools" in capabilities else ()
    )
    # In a thread: the texts of many tools take a while to scan.
    tools, skipped = await to_thread.run_sync(parse_tools, entries, server, scan)
    if "prompts" not in capabilities:
        return ServerFeatures(tools, (), skipped, has_resources)
    try:
        prompts = parse_prompts(await fetch_all_pages(connection, "prompts/list", "prompts"))
    except ServerError as error:
        if not error.is_answer:
            raise
        skipped = (*skipped, "its prompts could not be listed")
        return ServerFeatures(tools, (), skipped, has_resources)
    return ServerFeatures(tools, prompts, skipped, has_resources)


class Requester(Protocol):
    """Sends requests to a server."""

    async def request(self, method: str, parameters: Json) -> Json:
        """Send a request and return its result.

        Raises:
            ServerError: The request failed, or the server answered with an error.
        """
        ...


async def fetch_all_pages(connection: Requester, method: str, name: str) -> list[JsonValue]:
    """Return all entries of a list that a server sends in pages.

    Raises:
        ServerError: The request failed, or the server answered with an error.
    """
    entries: list[JsonValue] = []
    parameters: Json = {}
    for _ in range(MAX_PAGES):  # bounded: a server could repeat its cursor forever
        page = await connection.request(method, parameters)
        entries += as_list(page.get(name))
        cursor = as_text(page.get("nextCursor"))
        if not cursor:
            break
        parameters = {"cursor": cursor}
    return entries
