"""Who waits for which file: first come, first served. Knows keys, not files."""

from collections import deque
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

import anyio


class Lines:
    """One line of waiting tasks for each key.

    A task takes its place in all the lines it needs at once, before it waits for the first. So
    places are taken in the order of the calls, and no two tasks can wait for each other.
    """

    def __init__(self) -> None:
        self._lines: dict[str, deque[anyio.Event]] = {}

    @asynccontextmanager
    async def place_in(self, keys: Iterable[str]) -> AsyncGenerator[None]:
        """Wait until it is this task's turn for all keys; then they are its own until the end."""
        places = {key: anyio.Event() for key in keys}
        for key, is_first in places.items():
            line = self._lines.setdefault(key, deque())
            line.append(is_first)
            line[0].set()
        try:
            for is_first in places.values():
                await is_first.wait()
            yield
        finally:
            for key, is_first in places.items():
                self._leave(key, is_first)

    def _leave(self, key: str, is_first: anyio.Event) -> None:
        line = self._lines[key]
        line.remove(is_first)
        if line:
            line[0].set()
        else:
            del self._lines[key]
