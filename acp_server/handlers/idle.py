"""Detects moments in which the client waits for no response, to import modules then.

Imports compete for the interpreter lock: a response that runs at the same time takes two or three
times as long. Independent of methods; the method table decides which requests count.
"""

import anyio
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import InboundRequest, RequestHandler

QUIET_SECONDS = 0.05
"""Time without a request that counts as idle: requests often follow each other closely."""
MAX_WAIT_SECONDS = 2.0
"""The longest wait for idle time: a busy client must not postpone the imports forever."""


class IdleDetector:
    """Idle detector: knows whether requests are being answered."""

    def __init__(
        self, quiet_seconds: float = QUIET_SECONDS, max_wait_seconds: float = MAX_WAIT_SECONDS
    ) -> None:
        self._quiet_seconds = quiet_seconds
        self._max_wait_seconds = max_wait_seconds
        self._active_requests = 0
        self._idle = anyio.Event()
        self._idle.set()
        self._idle_since_seconds = float("-inf")
        self._is_disabled = False

    def track(self, handler: RequestHandler) -> RequestHandler:
        """Return the handler with its requests counted as activity."""

        def admit(params: JsonValue, call: InboundRequest) -> Job:
            job = handler(params, call)

            async def run() -> Reply:
                # In the job, not in the synchronous part: a job that is cancelled before it starts
                # would never count down again.
                self._request_started()
                try:
                    return await job()
                finally:
                    self._request_ended()

            return run

        return admit

    async def wait(self) -> None:
        """Return when the client is idle, or after the longest wait."""
        with anyio.move_on_after(self._max_wait_seconds):
            while not self._is_disabled and (
                self._active_requests or self._remaining_quiet_seconds > 0
            ):
                await self._idle.wait()
                # A request may arrive during the sleep, hence the loop.
                await anyio.sleep(max(self._remaining_quiet_seconds, 0))

    def disable(self) -> None:
        """Let all waits return at once from now on: the imports are done."""
        self._is_disabled = True

    @property
    def _remaining_quiet_seconds(self) -> float:
        """How long no request may arrive before this counts as idle."""
        return self._idle_since_seconds + self._quiet_seconds - anyio.current_time()

    def _request_started(self) -> None:
        if not self._active_requests:
            self._idle = anyio.Event()
        self._active_requests += 1

    def _request_ended(self) -> None:
        self._active_requests -= 1
        if not self._active_requests:
            self._idle_since_seconds = anyio.current_time()
            self._idle.set()
