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


class _Desk(Generic[Result]):
    """Where all queue who ask for the same."""

    def __init__(self) -> None:
        self.turn = anyio.Lock()
        self.next: list[Result] = []
        """For those whose reading has not begun: what comes of it, once it was done."""


class Readings(Generic[Result]):
    """Readings of one kind."""

    def __init__(self) -> None:
        """Nobody asks yet."""
        self._desks: WeakValueDictionary[Hashable, _Desk[Result]] = WeakValueDictionary()

    async def read(self, key: Hashable, work: Callable[[], Result]) -> Result:
        """Return what `work` returns, done in a thread, once for all who wait with the same key.

        The key says everything that the result depends on, but for the disk. Raises what the work
        raises: to one of those who wait, and the next one tries.
        """
        desk = self._desks.get(key)
        if desk is None:
            desk = self._desks[key] = _Desk[Result]()
        mine = desk.next
        async with desk.turn:
            if not mine:
                desk.next = []  # who asks from now on may want what is newer
                mine.append(await to_thread.run_sync(work))
        return mine[0]


class BriefingReadings:
    """What sessions with the same settings read for their system prompts."""

    def __init__(self) -> None:
        """Nobody asks yet."""
        self.gathered: Readings[Gathered] = Readings()
        self.spoken: Readings[Spoken] = Readings()
