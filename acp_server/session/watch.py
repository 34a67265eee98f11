"""One watch over folders for the whole process; whoever keeps something of files subscribes to it.

    subscription = watch.subscribe(listener)
    subscription.watch({root, root / "docs"})   # takes the place of the former set, at any time
    subscription.close()

The listener is given paths. One of its folders itself means: anything in it may have changed, look
at all of it. That is said when the watching of a folder begins, so nothing falls between reading
and watching, and when a folder went, came or was replaced; it need not be there from the start. Any
other path lies directly in one of its folders and was made, changed, renamed or removed. A path is
a reason to look, no more: whether its content differs is the listener's to find out.

Folders are watched without what is below them. A tree is the set of its folders, as deep as the
listener cares: it is concerned about names of folders too, and when it is given one it walks the
tree and calls `watch` with what it finds. A folder that many want is watched once.

Does not know what files say, and not how the system tells of changes: an `EventSource` does, in
one thread of its own, which is there while something is watched.
"""

import logging
import threading
from collections.abc import Callable, Collection, Coroutine, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import anyio
from anyio import to_thread

from acp_server.frozen import frozen

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

MOST_LOOKS = 4
"""How many listeners look at once: each may take a thread, and turns need theirs."""

Concern = Callable[[Path], bool]
"""Whether a path matters to somebody."""
Task = Callable[[], Coroutine[object, object, None]]
Wanted = Mapping[Path, tuple[Concern, ...]]
"""The folders that are to be watched, and what matters in each."""


class Listener(Protocol):
    """Somebody who keeps something of what is in folders."""

    def is_concerned(self, path: Path) -> bool:
        """Whether a path in one of its folders matters. Asked in a thread, for each change."""
        ...

    async def look(self, paths: frozenset[Path]) -> None:
        """Look at what may have changed; while that goes on, more is collected."""
        ...

    def hear(self, problem: str) -> bool:
        """Take note that changes will not be told of, as a sentence; return whether a user knows.

        Who came last hears it first, and once a user knows, nobody else does.
        """
        ...


@frozen
class Seen:
    """What a source of events has to tell."""

    paths: frozenset[Path] = frozenset()
    problem: str = ""
    """Why folders cannot be watched, in half a sentence."""


class EventSource(Protocol):
    """What waits for changes in folders."""

    def wait(self, wanted: Callable[[], Wanted], is_over: threading.Event) -> Seen:
        """Block until there is something to tell, nothing is wanted any more, or all is over.

        `wanted` may return another set each time; the source follows it.
        """
        ...


class Subscription:
    """A listener's part in the watch."""

    def __init__(self, owner: "FolderWatch", listener: Listener) -> None:
        self.listener = listener
        self.folders: frozenset[Path] = frozenset()
        self._owner = owner
        self._unseen: set[Path] = set()
        self._is_looking = False
        self._is_closed = False

    def watch(self, folders: Collection[Path], *, is_read: bool = True) -> None:
        """Watch these folders, absolute paths, instead of those before.

        The listener looks at those whose watching began before; unless it has read nothing of them
        yet, as it says by `is_read`: then what changes from now on is all that it can miss.
        """
        wanted = frozenset(folders)
        if wanted == self.folders or self._is_closed:
            return
        before, self.folders = self.folders, wanted
        shared = self._owner.move(self, before)
        if is_read and shared:
            self._unseen.update(shared)
            if len(shared) == len(wanted - before):  # else the source tells of the others soon
                self._owner.have_looked(self)

    def look(self) -> None:
        """Have the listener look at all of its folders, soon."""
        self._unseen.update(self.folders)
        self._owner.have_looked(self)

    def close(self) -> None:
        """Watch nothing any more; the listener is given nothing from now on."""
        self.watch(())
        self._is_closed = True
        self._owner.remove(self)
        self._unseen.clear()

    def takes(self, paths: Collection[Path]) -> bool:
        """Keep what concerns the listener until it looks; whether it must be asked to."""
        is_concerned = self.listener.is_concerned
        for path in paths:
            if path in self.folders or (path.parent in self.folders and is_concerned(path)):
                self._unseen.add(path)
        return bool(self._unseen) and not self._is_looking

    async def deliver(self, limiter: anyio.CapacityLimiter) -> None:
        """Have the listener look until nothing is left."""
        if self._is_looking:
            return
        self._is_looking = True
        try:
            while self._unseen:
                async with limiter:
                    paths, self._unseen = frozenset(self._unseen), set()
                    await self.listener.look(paths)
        finally:
            self._is_looking = False


class FolderWatch:
    """The folders that all subscribers want watched."""

    def __init__(
        self,
        open_source: Callable[[], EventSource],
        spawn: Callable[[Task], object],
    ) -> None:
        """Make a watch; `open_source` may be slow and runs in a thread, `spawn` starts a task."""
        self._open_source = open_source
        self._spawn = spawn
        self._source: EventSource | None = None
        self._subscriptions: list[Subscription] = []
        self._wanted: Wanted = {}
        self._is_running = False
        self._has_said_problem = False
        self._unheard = ""
        """A problem that no user knows of yet."""
        self._thread = anyio.CapacityLimiter(1)
        self._looks = anyio.CapacityLimiter(MOST_LOOKS)

    def subscribe(self, listener: Listener) -> Subscription:
        """Return a subscription that watches nothing yet."""
        subscription = Subscription(self, listener)
        self._subscriptions.append(subscription)
        if self._unheard:
            self._say(self._unheard)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Forget a subscription that wants nothing; nothing happens if it is forgotten."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def move(self, subscription: Subscription, before: frozenset[Path]) -> Collection[Path]:
        """Note that a subscription wants other folders than `before`.

        The source sees it within its next step. Returns those of its new folders whose beginning
        the source will not tell of: others had them.
        """
        concern, added = subscription.listener.is_concerned, subscription.folders - before
        wanted = dict(self._wanted)
        for folder in before - subscription.folders:
            left = [*wanted.pop(folder)]
            left.remove(concern)
            if left:
                wanted[folder] = tuple(left)
        shared = [folder for folder in added if folder in wanted]
        for folder in added:
            wanted[folder] = (*wanted.get(folder, ()), concern)
        self._wanted = wanted
        if wanted and not self._is_running:
            self._is_running = True
            self._spawn(self._run)
        return shared

    def have_looked(self, subscription: Subscription) -> None:
        """Have a listener look, soon."""
        self._spawn(partial(subscription.deliver, self._looks))

    async def _run(self) -> None:
        """Watch as long as something is wanted.

        A cancelled wait is abandoned: its thread sees that all is over, and nobody waits for it.
        """
        is_over = threading.Event()
        try:
            source = self._source = self._source or await self._in_thread(self._open_source)
            wait = partial(source.wait, lambda: self._wanted, is_over)
            while self._wanted:
                self._spread(await self._in_thread(wait))
            self._is_running = False
        except ImportError as error:
            self._say(f"the part that watches is not usable here: {error}")
        finally:
            is_over.set()

    def _spread(self, seen: Seen) -> None:
        for subscription in tuple(self._subscriptions):
            if subscription.takes(seen.paths):
                self.have_looked(subscription)
        if seen.problem:
            self._say(seen.problem)

    def _say(self, problem: str) -> None:
        """Say that folders cannot be watched, until a user knows."""
        if self._has_said_problem or not self._subscriptions:
            return
        if not self._unheard:
            logger.warning("folders cannot be watched: %s", problem)
        self._unheard = problem
        if any(each.listener.hear(problem) for each in reversed(self._subscriptions)):
            self._has_said_problem, self._unheard = True, ""

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._thread)
