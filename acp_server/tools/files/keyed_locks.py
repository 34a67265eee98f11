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
        waiters = {key: anyio.Event() for key in keys}
        # No await in this loop: joining all queues must be atomic to rule out deadlocks.
        for key, waiter in waiters.items():
            queue = self._queues.setdefault(key, deque())
            queue.append(waiter)
            queue[0].set()
        try:
            for waiter in waiters.values():
                await waiter.wait()
            yield
        finally:  # also if cancelled while waiting: an abandoned entry would block the queue
            for key, waiter in waiters.items():
                queue = self._queues[key]
                queue.remove(waiter)
                if queue:
                    queue[0].set()
                else:
                    del self._queues[key]
