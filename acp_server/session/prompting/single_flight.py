"""Single-flight disk reads: concurrent identical reads share one.

Nothing is cached: every caller gets a result that was read after its call, as fresh as if it had
read by itself. Independent of the data that is read.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

Result = TypeVar("Result")


class _SharedRead(Generic[Result]):
    """One shared read and its waiters."""

    def __init__(self) -> None:
        self.has_leader = False
        """Whether a caller performs this read, or will when it holds the lock."""
        self.is_done = anyio.Event()
        self.results: list[Result] = []
        """The result of the read; empty if it failed."""


class _PendingRead(Generic[Result]):
    """The pending reads of one key."""

    def __init__(self) -> None:
        self.lock = anyio.Lock()
        self.next = _SharedRead[Result]()
        """The read that has not started; new callers join it."""


class SingleFlight(Generic[Result]):
    """Single-flight execution of blocking work."""

    def __init__(self) -> None:
        """Start without pending reads."""
        # Weak: an entry lasts as long as a caller holds it.
        self._pending: WeakValueDictionary[Hashable, _PendingRead[Result]] = WeakValueDictionary()

    async def run(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Run `work` in a thread, once for all callers waiting with the same key.

        The key must contain everything that the result depends on except the disk. All waiters
        continue together. If the work raises, one caller gets the error and another one retries.
        """
        pending_read = self._pending.get(key)
        if pending_read is None:
            pending_read = self._pending[key] = _PendingRead[Result]()
        # A failed or cancelled leader leaves no result: one of its waiters becomes the next leader.
        while True:
            shared_read = pending_read.next
            if shared_read.has_leader:
                await shared_read.is_done.wait()
            else:
                await self._lead(shared_read, pending_read, work)
            if shared_read.results:
                return shared_read.results[0]

    async def _lead(
        self,
        shared_read: _SharedRead[Result],
        pending_read: _PendingRead[Result],
        work: Callable[[], Result],
    ) -> None:
        shared_read.has_leader = True
        try:
            async with pending_read.lock:
                # Replaced before the read starts: a later caller may have changed a file that
                # this read has already passed, so it must wait for the next one.
                pending_read.next = _SharedRead[Result]()
                shared_read.results.append(await to_thread.run_sync(work))
        finally:
            # Cancelled while waiting for the lock: without a new read, callers would join this one
            # and spin, because it counts as led and is already over.
            if pending_read.next is shared_read:
                pending_read.next = _SharedRead[Result]()
            shared_read.is_done.set()
