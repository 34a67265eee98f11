"""Detects moments in which the client waits for no response, to import modules then.

Imports compete for the interpreter lock: a response that runs at the same time takes two or three
times as long. Independent of methods; the method table decides which requests count.
"""

import anyio
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import Call, RequestHandler

QUIET_SECONDS = 0.05
"""Time without a request that counts as idle: requests often follow each other closely."""
PATIENCE_SECONDS = 2.0
"""The longest wait for idle time: a busy client must not postpone the imports forever."""


class Lull:
    """Idle detector: knows whether requests are being answered."""

    def __init__(
        self, quiet_seconds: float = QUIET_SECONDS, patience_seconds: float = PATIENCE_SECONDS
    ) -> None:
        self._quiet_seconds = quiet_seconds
        self._patience_seconds = patience_seconds
        self._under_way = 0
        self._rest = anyio.Event()
        self._rest.set()
        self._rest_began_seconds = float("-inf")
        self._is_dismissed = False

    def watched(self, handler: RequestHandler) -> RequestHandler:
        """Return the handler with its requests counted as activity."""

        def admit(params: JsonValue, call: Call) -> Job:
            job = handler(params, call)

            async def run() -> Reply:
                # In the job, not in the synchronous part: a job that is cancelled before it starts
                # would never count down again.
                self._begin()
                try:
                    return await job()
                finally:
                    self._end()

            return run

        return admit

    async def wait(self) -> None:
        """Return when the client is idle, or after the longest wait."""
        with anyio.move_on_after(self._patience_seconds):
            while not self._is_dismissed and (self._under_way or self._unrest_seconds > 0):
                await self._rest.wait()
                # A request may arrive during the sleep, hence the loop.
                await anyio.sleep(max(self._unrest_seconds, 0))

    def dismiss(self) -> None:
        """Let all waits return at once from now on: the imports are done."""
        self._is_dismissed = True

    @property
    def _unrest_seconds(self) -> float:
        """How long no request may arrive before this counts as idle."""
        return self._rest_began_seconds + self._quiet_seconds - anyio.current_time()

    def _begin(self) -> None:
        if not self._under_way:
            self._rest = anyio.Event()
        self._under_way += 1

    def _end(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._rest_began_seconds = anyio.current_time()
            self._rest.set()
