"""Exclusive locks by key, first come, first served. Used for files, but knows only keys."""

from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio


class KeyedLocks:
    """Fair exclusive locks by key, of which a task can acquire several at once.

    A task joins the queues of all its keys at once, before it waits for the first. Therefore the
    queues are in the order of the calls, and two tasks can never wait for each other.
    """

    def __init__(self) -> None:
        self._queues: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def acquire(self, keys: Iterable[str]) -> AsyncGenerator[None]:
        """Acquire the locks of all keys, and hold them inside this context."""
        places = {key: anyio.Event() for key in keys}
        # No await in this loop: joining all queues must be atomic to rule out deadlocks.
        for key, is_first in places.items():
            line = self._queues.setdefault(key, deque())
            line.append(is_first)
            line[0].set()
        try:
            for is_first in places.values():
                await is_first.wait()
            yield
        finally:  # also if cancelled while waiting: an abandoned entry would block the queue
            for key, is_first in places.items():
                self._release(key, is_first)

    def _release(self, key: str, is_first: anyio.Event) -> None:
        line = self._queues[key]
        line.remove(is_first)
        if line:
            line[0].set()
        else:
            del self._queues[key]
