"""One reading of the disk for all who ask for the same at the same time.

Nothing is kept: everybody gets what was read after they asked, so it is as fresh as if they had
read it themselves. Knows not what is read.
"""

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Generic, TypeVar
from weakref import WeakValueDictionary

import anyio
from anyio import to_thread

if TYPE_CHECKING:
    from acp_server.session.workspace_reader import Gathered, Spoken

Result = TypeVar("Result")


class _Round(Generic[Result]):
    """One reading, and those who share it."""

    def __init__(self) -> None:
        self.is_led = False
        """Whether somebody does it, or will when its turn has come."""
        self.is_over = anyio.Event()
        self.results: list[Result] = []
        """What was read, once it was; nothing if that failed."""


class _Desk(Generic[Result]):
    """Where all queue who ask for the same."""

    def __init__(self) -> None:
        self.turn = anyio.Lock()
        self.next = _Round[Result]()
        """The reading that has not begun."""


class Readings(Generic[Result]):
    """Readings of one kind."""

    def __init__(self) -> None:
        """Nobody asks yet."""
        self._desks: WeakValueDictionary[Hashable, _Desk[Result]] = WeakValueDictionary()

    async def read(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, done in a thread, once for all who wait with the same key.

        The key says everything that the result depends on, but for the disk. All go on at the same
        moment. Raises what the work raises: to one of those who wait, and another one tries.
        """
        desk = self._desks.get(key)
        if desk is None:
            desk = self._desks[key] = _Desk[Result]()
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
                desk.next = _Round[Result]()  # who asks from now on may want what is newer
                mine.results.append(await to_thread.run_sync(work))
        finally:
            if desk.next is mine:  # cancelled before its turn
                desk.next = _Round[Result]()
            mine.is_over.set()


class BriefingReadings:
    """What sessions with the same settings read for their system prompts."""

    def __init__(self) -> None:
        """Nobody asks yet."""
        self.gathered: Readings[Gathered] = Readings()
        self.spoken: Readings[Spoken] = Readings()
