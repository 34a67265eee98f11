"""One directory watch for the whole process; every user of files subscribes to it.

    subscription = watch.subscribe(listener)
    subscription.watch({root, root / "docs"})   # replaces the previous set, at any time
    subscription.close()

The listener receives paths. A watched directory itself means: anything in it may have changed,
check all of it. This is sent when the watching of a directory starts, so that no change falls
between reading and watching, and when a directory was removed, created or replaced; it need not
exist at the start. Any other path is a direct child of a watched directory and was created,
changed, renamed or removed. A path is only a reason to check: the listener finds out whether the
content differs.

Directories are watched without their subdirectories. To watch a tree, a listener reports concern
for directory names too, walks the tree when it receives one, and calls `watch` with the result. A
directory that several listeners want is watched once.

File contents and operating-system interfaces are elsewhere: an `EventSource` waits for changes in
its own thread, which exists while something is watched.
"""

import logging
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import anyio
from anyio import lowlevel, to_thread

from acp_server.startup.fast_dataclass import frozen_dataclass

logger = logging.getLogger(__name__)

_Result = TypeVar("_Result")

MAX_CONCURRENT_CHECKS = 4
"""How many listeners may check at once: each may occupy a thread, and turns need threads too."""

PathFilter = Callable[[Path], bool]
"""Returns whether a path matters to a subscriber."""
TaskFunction = Callable[[], Coroutine[object, object, None]]
WatchedDirectories = Mapping[Path, tuple[PathFilter, ...]]
"""The directories to watch, with the filters of their subscribers."""


class WatchListener(Protocol):
    """A user of files in watched directories."""

    def is_relevant(self, path: Path) -> bool:
        """Return whether a path in a watched directory matters. Called in a thread per change."""
        ...

    async def check_changes(self, paths: frozenset[Path]) -> None:
        """Check paths that may have changed; further changes are collected meanwhile."""
        ...

    def report_problem(self, problem: str) -> bool:
        """Receive the reason why changes are not reported; return whether a user was told.

        The latest subscriber is called first, and after a user was told, no other one is called.
        """
        ...


@frozen_dataclass
class WatchResult:
    """The result of waiting for changes."""

    paths: frozenset[Path] = frozenset()
    problem: str = ""
    """Why directories cannot be watched, as a clause."""


class EventSource(Protocol):
    """Waits for changes in directories."""

    def wait(
        self, requested: Callable[[], WatchedDirectories], is_closed: threading.Event
    ) -> WatchResult:
        """Block until there is a change, nothing is requested any more, or `is_closed` is set.

        `requested` may return a different set each time; the source follows it.
        """
        ...


class Subscription:
    """A listener's registration with the watch."""

    def __init__(self, owner: "FileWatch", listener: WatchListener) -> None:
        self.listener = listener
        self.folders: frozenset[Path] = frozenset()
        self._owner = owner
        self._changed: set[Path] = set()
        self._is_checking = False
        self._is_closed = False

    def watch(self, folders: Collection[Path], *, is_read: bool = True) -> None:
        """Watch these directories (absolute paths) instead of the previous ones.

        The listener checks those that were already being watched. With `is_read=False` it has not
        read them yet, so that only later changes matter and no check is needed.
        """
        new_folders = frozenset(folders)
        if new_folders == self.folders or self._is_closed:
            return
        before, self.folders = self.folders, new_folders
        shared = self._owner.update(self, before)
        if is_read and shared:
            self._changed.update(shared)
            # Otherwise the source reports the remaining directories soon, and one check does all.
            if len(shared) == len(new_folders - before):
                self._owner.schedule_check(self)

    def check_all(self) -> None:
        """Have the listener check all of its directories soon."""
        self._changed.update(self.folders)
        self._owner.schedule_check(self)

    def close(self) -> None:
        """Stop watching; the listener receives nothing from now on."""
        # `watch` first: it does nothing in a closed subscription.
        self.watch(())
        self._is_closed = True
        self._owner.remove(self)
        self._changed.clear()

    def collect(self, parents: Mapping[Path, Path]) -> bool:
        """Collect the paths that concern the listener; return whether it must be scheduled.

        `parents` has each path and its parent.
        """
        is_relevant = self.listener.is_relevant
        for path, parent in parents.items():
            if path in self.folders or (parent in self.folders and is_relevant(path)):
                self._changed.add(path)
        return bool(self._changed) and not self._is_checking

    async def deliver(self, limiter: anyio.CapacityLimiter) -> None:
        """Have the listener check until no paths are left."""
        # A second delivery is unnecessary: the loop below also takes paths that arrive meanwhile.
        if self._is_checking:
            return
        self._is_checking = True
        try:
            while self._changed:
                async with limiter:  # paths that arrive while waiting here join this check
                    # Emptied before the check: a change during it must cause another one.
                    paths, self._changed = frozenset(self._changed), set()
                    await self.listener.check_changes(paths)
        finally:
            self._is_checking = False


class FileWatch:
    """The directories that all subscribers watch."""

    def __init__(
        self,
        open_source: Callable[[], EventSource],
        spawn: Callable[[TaskFunction], object],
        wait_to_start: Callable[[], Awaitable[object]] = lowlevel.checkpoint,
    ) -> None:
        """Create a watch; `open_source` may block and runs in a thread, `spawn` starts a task.

        The source is opened after `wait_to_start`, so that it need not compete with a first prompt.
        Changes until then are found when the watching starts.
        """
        self._wait_to_start = wait_to_start
        self._open_source = open_source
        self._spawn = spawn
        self._source: EventSource | None = None
        self._subscriptions: list[Subscription] = []
        self._directories: WatchedDirectories = {}
        self._is_running = False
        self._has_reported = False
        self._unreported = ""
        """A problem that no user was told about yet."""
        # Its own limiter: a thread that waits for events must not take one from the shared pool.
        self._thread_limiter = anyio.CapacityLimiter(1)
        self._check_limiter = anyio.CapacityLimiter(MAX_CONCURRENT_CHECKS)

    def subscribe(self, listener: WatchListener) -> Subscription:
        """Return a subscription that watches nothing yet."""
        subscription = Subscription(self, listener)
        self._subscriptions.append(subscription)
        # A problem that no user has seen: this subscriber may have one who does.
        if self._unreported:
            self._report_problem(self._unreported)
        return subscription

    def remove(self, subscription: Subscription) -> None:
        """Remove a subscription; does nothing if it was removed before."""
        if subscription in self._subscriptions:
            self._subscriptions.remove(subscription)

    def update(self, subscription: Subscription, before: frozenset[Path]) -> Collection[Path]:
        """Update the wanted directories after a subscription has changed its own from `before`.

        The source follows within its next step. Returns the new directories whose start the source
        will not report, because another subscriber already had them.
        """
        is_relevant, added = subscription.listener.is_relevant, subscription.folders - before
        # Copy on write: the source's thread reads the old mapping at any time, without a lock.
        directories = dict(self._directories)
        for folder in before - subscription.folders:
            remaining = [*directories.pop(folder)]
            remaining.remove(is_relevant)
            if remaining:
                directories[folder] = tuple(remaining)
        shared = [folder for folder in added if folder in directories]
        for folder in added:
            directories[folder] = (*directories.get(folder, ()), is_relevant)
        self._directories = directories
        # Set here, not in the task: a second `update` may come before the task has started.
        if directories and not self._is_running:
            self._is_running = True
            self._spawn(self._run)
        return shared

    def run_when_started(self, task: TaskFunction) -> None:
        """Run a task once watching may start, such as one that finds thousands of directories."""
        self._spawn(partial(self._run_when_started, task))

    def schedule_check(self, subscription: Subscription) -> None:
        """Schedule a listener's check."""
        self._spawn(partial(subscription.deliver, self._check_limiter))

    async def _run_when_started(self, task: TaskFunction) -> None:
        if self._source is None:
            await self._wait_to_start()
        await task()

    async def _run(self) -> None:
        """Watch while any directory is wanted.

        A cancelled wait is abandoned: its thread ends by itself when it sees `is_closed`.
        """
        is_closed = threading.Event()
        try:
            if self._source is None:
                await self._wait_to_start()
                self._source = await self._in_thread(self._open_source)
            source = self._source
            wait = partial(source.wait, lambda: self._directories, is_closed)
            while self._directories:
                self._distribute(await self._in_thread(wait))
            # No await since the last look at the directories: a later `update` starts a new task.
            self._is_running = False
        except ImportError as error:
            # A later `update` tries again: an installation may be repaired, or was being changed.
            self._is_running = False
            self._report_problem(f"the file watcher cannot be imported: {error}")
        finally:
            is_closed.set()

    def _distribute(self, result: WatchResult) -> None:
        # A copy: a listener may subscribe or close while the paths are distributed.
        parents = {path: path.parent for path in result.paths}
        for subscription in tuple(self._subscriptions):
            if subscription.collect(parents):
                self.schedule_check(subscription)
        if result.problem:
            self._report_problem(result.problem)

    def _report_problem(self, problem: str) -> None:
        """Report that directories cannot be watched, until a user was told."""
        if self._has_reported or not self._subscriptions:
            return
        if not self._unreported:
            logger.warning("directories cannot be watched: %s", problem)
        self._unreported = problem
        if any(each.listener.report_problem(problem) for each in reversed(self._subscriptions)):
            self._has_reported, self._unreported = True, ""

    async def _in_thread(self, work: Callable[[], _Result]) -> _Result:
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._thread_limiter)


def missing_directories(folder: Path) -> Iterator[Path]:
    """Yield a directory and those above it, as far as they do not exist. Blocks.

    A listener that watches their parents learns when they appear.
    """
    for path in (folder, *folder.parents):
        if path.is_dir():
            return
        yield path
