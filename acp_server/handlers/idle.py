"""Detects moments in which the client waits for no response, to prepare sessions then.

Imports compete for the interpreter lock: a response that runs at the same time takes two or three
times as long. So does the preparation of other sessions while fifty prompts wait for theirs.
Independent of methods; the method table decides which requests count.
"""

from collections.abc import Generator
from contextlib import contextmanager

import anyio

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

    @contextmanager
    def answering(self) -> Generator[None]:
        """Count the body as a request that is being answered."""
        if not self._active_requests:
            self._idle = anyio.Event()
        self._active_requests += 1
        try:
            yield
        finally:
            self._active_requests -= 1
            if not self._active_requests:
                self._idle_since_seconds = anyio.current_time()
                self._idle.set()

    async def wait(self) -> None:
        """Return when the client is idle, or after the longest wait."""
        with anyio.move_on_after(self._max_wait_seconds):
            while self._active_requests or self._remaining_quiet_seconds > 0:
                await self._idle.wait()
                # A request may arrive during the sleep, hence the loop.
                await anyio.sleep(max(self._remaining_quiet_seconds, 0))

    def end_quiet(self) -> None:
        """Let waits return as soon as no request is active: the imports are done."""
        self._quiet_seconds = 0.0

    @property
    def _remaining_quiet_seconds(self) -> float:
        """How long no request may arrive before this counts as idle."""
        return self._idle_since_seconds + self._quiet_seconds - anyio.current_time()
