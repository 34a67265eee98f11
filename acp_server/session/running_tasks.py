"""Running sub-agent tasks of a session, so that each can be cancelled separately."""

from collections.abc import Generator
from contextlib import contextmanager

import anyio


class RunningTasks:
    """The running tasks, by delegating tool call and 1-based task number."""

    def __init__(self) -> None:
        self._scopes: dict[tuple[str, int], anyio.CancelScope] = {}

    @contextmanager
    def register(self, call_id: str, number: int) -> Generator[anyio.CancelScope]:
        """Register a task while it runs; afterwards its scope tells whether it was cancelled."""
        with anyio.CancelScope() as scope:
            # Registered inside the scope, so that a cancel can never reach a scope that was left.
            self._scopes[call_id, number] = scope
            try:
                yield scope
            finally:
                del self._scopes[call_id, number]

    def cancel(self, call_id: str, number: int) -> None:
        """Cancel one task; does nothing if it is not running."""
        scope = self._scopes.get((call_id, number))
        if scope is not None:
            scope.cancel()
