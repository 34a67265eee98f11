"""Values that are imported and created in a thread at their first use."""

from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
from anyio import to_thread

T = TypeVar("T")


class Lazy(Generic[T]):
    """A value whose code is imported at its first use; concurrent callers share one creation."""

    def __init__(self, create: Callable[[], T]) -> None:
        """Prepare; `create` imports and creates the value, and runs in a thread."""
        self._create = create
        self._lock = anyio.Lock()
        self._values: list[T] = []  # a list, because None may be a value

    @classmethod
    def of(cls, value: T) -> "Lazy[T]":
        """Return a lazy value that is created already."""
        lazy = cls(lambda: value)
        lazy._values.append(value)
        return lazy

    @property
    def loaded(self) -> T | None:
        """The value if it has been created, else None."""
        return self._values[0] if self._values else None

    async def get(self) -> T:
        """Return the value; the first call creates it. If that fails, the next call tries again."""
        if not self._values:
            # Callers that arrive during the import wait here and find the value afterwards; two
            # instances would not share their connections, locks and processes.
            async with self._lock:
                if not self._values:
                    self._values.append(await to_thread.run_sync(self._create))
        return self._values[0]
