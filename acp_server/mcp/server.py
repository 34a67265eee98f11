"""Lifecycle of one server: connect, follow list changes, reconnect, give up.

Owns the server's state and features. Knows no tools and no session. Sessions do not share servers,
even with equal configurations.
"""

import logging
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import anyio
from pydantic import JsonValue

from acp_server.mcp.call_timeouts import Clocks
from acp_server.mcp.features import Offers, read_prompts, read_tools
from acp_server.mcp.json_values import as_list, as_object, as_text, line_of
from acp_server.mcp.ports import (
    Feature,
    Host,
    Json,
    Limits,
    LoadSdk,
    Progress,
    Sdk,
    ServerError,
    Wire,
)
from acp_server.mcp.redaction import redaction_of
from acp_server.session.ports.elicitation import Elicitor
from acp_server.session.ports.mcp_configs import Patience, ServerConfig
from acp_server.startup.fast_dataclass import frozen

logger = logging.getLogger(__name__)

State = Literal["waiting", "connecting", "connected", "reconnecting", "failed", "closed"]

_NO_ANSWER = (
    "no answer within {seconds:g} s; it was told to stop, and whether it has done anything is not "
    "known"
)

MOST_LINES = 20
MOST_LINE_CHARACTERS = 300
MOST_REASON_CHARACTERS = 500
MOST_PAGES = 50
CHANGE_SECONDS = 0.2
"""The least delay between two fetches of the lists: limits servers that notify all the time."""


@frozen
class Premises:
    """Dependencies of one server."""

    roots: Sequence[Path]
    elicitor: Elicitor
    limits: Limits
    load: LoadSdk


class Server:
    """One server of one session."""

    def __init__(
        self, config: ServerConfig, premises: Premises, note_change: Callable[[], None]
    ) -> None:
        """Prepare; `on_change` is called at each change of state or features."""
        self.config = config
        self.state: State = "waiting"
        self.problem = ""
        """The reason why the server is not connected, without secrets."""
        self.since = 0.0
        """The time of the last state change, in seconds of the event loop's clock."""
        self.offers = Offers()
        """The features at the last fetch."""
        self.settled = anyio.Event()
        """Set once the first connection attempt has ended, successfully or not."""
        self.redacted = redaction_of(config)
        self._output: deque[str] = deque(maxlen=MOST_LINES)
        self._limits = limits = _limits_of(config.patience, premises.limits)
        self._load = premises.load
        self._note_any_change = note_change
        self._clocks = Clocks(limits, premises.elicitor)
        self._host = Host(premises.roots, self._clocks, self._note_change, self._note_output)
        self._wire: Wire | None = None
        self._moved = anyio.Event()
        self._changed = anyio.Event()
        self._leave = anyio.Event()
        self._again = anyio.Event()

    @property
    def name(self) -> str:
        """The configured name."""
        return self.config.name

    @property
    def patience_seconds(self) -> float:
        """The timeout for connecting and initializing."""
        return self._limits.connect_seconds

    @property
    def output(self) -> tuple[str, ...]:
        """The last lines of process output that are not messages, without secrets."""
        return tuple(self._output)

    async def run(self) -> None:
        """Keep the server connected until `shut_down`."""
        try:
            await self._live(await self._load())
        except ImportError as error:
            self.problem = f"the MCP SDK cannot be loaded: {error}"
        finally:
            self._become("closed")

    def leave(self) -> None:
        """Request the end of `run`; returns at once."""
        self._leave.set()

    def try_again(self) -> None:
        """Reconnect a failed server in the background; `settled` is reset until it has ended."""
        if self.state == "failed":
            self.settled = anyio.Event()
            self._again.set()

    async def request(self, method: str, parameters: Json, follow: Progress | None = None) -> Json:
        """Send a request and return its result; waits briefly if the server is reconnecting.

        `on_progress` receives progress notifications.

        Raises:
            ServerError: The request failed or timed out, or the server answered with an error.
        """
        wire = await self._wire_soon()
        with self._clocks.timed() as clock:

            async def note(progress: float, total: float | None, message: str | None) -> None:
                clock.wind()
                if follow is not None:
                    await follow(progress, total, message)

            try:
                return await wire.request(method, parameters, note)
            except ServerError as error:
                raise self._told(error) from error
        raise ServerError(_NO_ANSWER.format(seconds=self._limits.call_seconds))

    async def _live(self, sdk: Sdk) -> None:
        pauses = self._limits.backoff_seconds
        losses = 0
        while not self._leave.is_set():
            since = anyio.current_time()
            was_connected = await self._was_connected(sdk)
            if self._leave.is_set():
                return
            if was_connected and anyio.current_time() - since > self._limits.steady_seconds:
                losses = 0
            # A first connection that fails is not retried: a wrong configuration stays wrong.
            if (was_connected or losses) and losses < len(pauses):
                await self._pause(pauses[losses])
                losses += 1
            else:
                losses = 0
                await self._give_up()

    async def _was_connected(self, sdk: Sdk) -> bool:
        """Connect and stay connected; return whether connecting succeeded."""
        if self.state != "reconnecting":
            self._become("connecting")
        try:
            await self._hold(sdk)
        except ServerError as error:
            self.problem = self._told(error).reason
        except TimeoutError:
            seconds = self._limits.connect_seconds
            self.problem = f"it did not introduce itself within {seconds:g} s"
        return self.state == "connected"

    async def _hold(self, sdk: Sdk) -> None:
        """Connect and wait until the connection is lost or the server is shut down."""
        with anyio.fail_after(self._limits.connect_seconds) as patience:
            async with sdk.connect(self.config, self._host) as wire:
                self.offers = await _offers(wire)
                patience.deadline = math.inf  # connected: the timeout must not end the connection
                self._wire, self.problem = wire, ""
                self._become("connected")
                try:
                    async with anyio.create_task_group() as tasks:
                        tasks.start_soon(self._follow_changes, wire)
                        await _first_of(wire.closed, self._leave)
                        tasks.cancel_scope.cancel()
                finally:
                    self._wire = None
        if not self._leave.is_set():
            self.problem = "the connection was lost"

    async def _follow_changes(self, wire: Wire) -> None:
        while True:
            await self._changed.wait()
            # Reset before fetching: a change during the fetch must cause another fetch.
            self._changed = anyio.Event()
            try:
                with anyio.move_on_after(self._limits.connect_seconds):
                    self.offers = await _offers(wire)
            except ServerError as error:
                logger.info("could not reload a changed MCP server list: %s", self._told(error))
            self._note_any_change()
            await anyio.sleep(CHANGE_SECONDS)

    async def _pause(self, seconds: float) -> None:
        self._become("reconnecting")
        with anyio.move_on_after(seconds):
            await self._leave.wait()

    async def _give_up(self) -> None:
        self._become("failed")
        if not self._leave.is_set():
            await _first_of(self._again, self._leave)
            self._again = anyio.Event()

    async def _wire_soon(self) -> Wire:
        with anyio.move_on_after(self._limits.reconnecting_seconds):
            while not (wire := self._live_wire) and self.state not in {"failed", "closed"}:
                await self._moved.wait()
            if wire:
                return wire
        reason = f": {self.problem}" if self.problem else ""
        message = f"the server is not connected{reason}; /mcp shows more"
        raise ServerError(message)

    @property
    def _live_wire(self) -> Wire | None:
        """The connection; None if it is lost, even if `_stay_connected` has not noticed yet."""
        return None if self._wire is None or self._wire.closed.is_set() else self._wire

    def _become(self, state: State) -> None:
        self.state, self.since = state, anyio.current_time()
        if state in {"connected", "failed", "closed"}:
            self.settled.set()
        # Wake all waiters, then replace the event: an event cannot be cleared.
        self._moved.set()
        self._moved = anyio.Event()
        self._note_any_change()

    def _note_change(self, feature: Feature) -> None:
        del feature  # both lists are short and usually change together: fetch both
        self._changed.set()

    def _note_output(self, line: str) -> None:
        line = "".join(each if each.isprintable() else " " for each in self.redacted(line))
        self._output.append(line_of(line, MOST_LINE_CHARACTERS))

    def _told(self, error: ServerError) -> ServerError:
        reason = line_of(self.redacted(error.reason), MOST_REASON_CHARACTERS)
        return ServerError(reason, is_answer=error.is_answer)


def _limits_of(patience: Patience, limits: Limits) -> Limits:
    """Return the limits of a server: its configured timeouts override the defaults."""
    return replace(
        limits,
        connect_seconds=patience.connect_seconds or limits.connect_seconds,
        call_seconds=patience.call_seconds or limits.call_seconds,
    )


async def _first_of(*events: anyio.Event) -> None:
    """Wait until one of the events is set."""
    async with anyio.create_task_group() as tasks:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            tasks.cancel_scope.cancel()

        for event in events:
            tasks.start_soon(wait, event)


async def _offers(wire: Wire) -> Offers:
    """Fetch a server's features; if listing the prompts fails, there are none."""
    capabilities = as_object(wire.introduction.get("capabilities"))
    tools, left_out = read_tools(
        await _listed(wire, "tools/list", "tools") if "tools" in capabilities else ()
    )
    if "prompts" not in capabilities:
        return Offers(tools, (), left_out)
    try:
        prompts = read_prompts(await _listed(wire, "prompts/list", "prompts"))
    except ServerError as error:
        if not error.is_answer:
            raise
        return Offers(tools, (), (*left_out, "its prompts could not be listed"))
    return Offers(tools, prompts, left_out)


async def _listed(wire: Wire, method: str, name: str) -> list[JsonValue]:
    entries: list[JsonValue] = []
    parameters: Json = {}
    for _ in range(MOST_PAGES):  # bounded: a server could repeat its cursor forever
        page = await wire.request(method, parameters)
        entries += as_list(page.get(name))
        cursor = as_text(page.get("nextCursor"))
        if not cursor:
            break
        parameters = {"cursor": cursor}
    return entries
