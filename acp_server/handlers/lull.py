"""Moments in which the client waits for no answer: when it is time to get ready for what may come.

Imports take their share of the interpreter from whatever else runs: beside them an answer takes
two or three times as long. Knows no methods; whoever makes the table says what is watched.
"""

import anyio
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import Call, RequestHandler

QUIET_SECONDS = 0.05
"""How long nothing has been asked when it is quiet: requests often come one behind the other."""
PATIENCE_SECONDS = 2.0
"""How long quiet is waited for: a client that never rests must not keep us from getting ready."""


class Lull:
    """Knows whether requests are being answered."""

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
        """Return a handler whose requests nobody wants disturbed."""

        def admit(params: JsonValue, call: Call) -> Job:
            job = handler(params, call)

            async def run() -> Reply:
                self._begin()
                try:
                    return await job()
                finally:
                    self._end()

            return run

        return admit

    async def wait(self) -> None:
        """Return when it is quiet, or when that takes too long."""
        with anyio.move_on_after(self._patience_seconds):
            while not self._is_dismissed and (self._under_way or self._unrest_seconds > 0):
                await self._rest.wait()
                await anyio.sleep(max(self._unrest_seconds, 0))

    def dismiss(self) -> None:
        """Have nobody wait from now on: everything is imported, and the rest disturbs little."""
        self._is_dismissed = True

    @property
    def _unrest_seconds(self) -> float:
        """How long nothing more may come until it is quiet."""
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
