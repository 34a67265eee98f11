"""Which tasks of sub-agents a session has running, so that one alone can be ended."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio


class RunningTasks:
    """The tasks that run, by the call that delegated and their number in it, from 1."""

    def __init__(self) -> None:
        self._scopes: dict[tuple[str, int], anyio.CancelScope] = {}

    @contextmanager
    def running(self, call_id: str, number: int) -> Generator[anyio.CancelScope]:
        """Have a task known while it runs; its scope says afterwards whether it was ended."""
        with anyio.CancelScope() as scope:
            self._scopes[call_id, number] = scope
            try:
                yield scope
            finally:
                del self._scopes[call_id, number]

    def cancel(self, call_id: str, number: int) -> None:
        """End one task; the others go on. Nothing happens if it does not run."""
        scope = self._scopes.get((call_id, number))
        if scope is not None:
            scope.cancel()
