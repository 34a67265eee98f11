"""Single-flight disk reads: concurrent identical reads share one.

Nothing is cached: every caller gets a result that was read after its call, as fresh as if it had
read by itself. Independent of the data that is read.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

if TYPE_CHECKING:
    from acp_server.session.prompting.workspace_reader import Gathered, Spoken

Result = TypeVar("Result")


class _Round(Generic[Result]):
    """One shared read and its waiters."""

    def __init__(self) -> None:
        self.is_led = False
        """Whether a caller performs this read, or will when it holds the lock."""
        self.is_over = anyio.Event()
        self.results: list[Result] = []
        """The result of the read; empty if it failed."""


class _Desk(Generic[Result]):
    """The pending reads of one key."""

    def __init__(self) -> None:
        self.turn = anyio.Lock()
        self.next = _Round[Result]()
        """The read that has not started; new callers join it."""


class Readings(Generic[Result]):
    """Single-flight execution of blocking work."""

    def __init__(self) -> None:
        """Start without pending reads."""
        self._desks: WeakValueDictionary[Hashable, _Desk[Result]] = WeakValueDictionary()

    async def read(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Run `work` in a thread, once for all callers waiting with the same key.

        The key must contain everything that the result depends on except the disk. All waiters
        continue together. If the work raises, one caller gets the error and another one retries.
        """
        desk = self._desks.get(key)
        if desk is None:
            desk = self._desks[key] = _Desk[Result]()
        # A failed or cancelled leader leaves no result: one of its waiters becomes the next leader.
        while True:
            mine = desk.next
            if mine.is_led:
                await mine.is_over.wait()
            else:
                await self._lead(mine, desk, work)
            if mine.results:
                return mine.results[0]

    async def _lead(
        self, mine: _Round[Result], desk: _Desk[Result], work: Callable[[], Result]
    ) -> None:
        mine.is_led = True
        try:
            async with desk.turn:
                # Replaced before the read starts: a later caller may have changed a file that
                # this read has already passed, so it must wait for the next one.
                desk.next = _Round[Result]()
                mine.results.append(await to_thread.run_sync(work))
        finally:
            # Cancelled while waiting for the lock: without a new read, callers would join this one
            # and spin, because it counts as led and is already over.
            if desk.next is mine:
                desk.next = _Round[Result]()
            mine.is_over.set()


class BriefingReadings:
    """Shared reads of sessions with the same prompt settings."""

    def __init__(self) -> None:
        """Start without pending reads."""
        self.gathered: Readings[Gathered] = Readings()
        self.spoken: Readings[Spoken] = Readings()
