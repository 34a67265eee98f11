"""A file watch over real directories, a recording listener, and the saving methods of editors.

async with open_watch() as watch:
    listener = Keeper()
    watch.subscribe(listener).watch({folder})
    await listener.until({folder})                 # the watch has started
    save_in_place(folder / "AGENTS.md", "Be kind.")
    await listener.until({folder / "AGENTS.md"})
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from anyio import lowlevel
from anyio.abc import TaskGroup

from acp_server.session.prompting.directory_events import DirectoryEvents
from acp_server.session.prompting.file_watch import EventSource, FileWatch, TaskFunction
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

CHECK_SECONDS = 0.02


class RecordingListener:
    """Watch listener that records its calls; file names that start with a dot are irrelevant."""

    def __init__(self) -> None:
        self.checks: list[frozenset[Path]] = []
        self.problems: list[str] = []
        self._changed = anyio.Event()

    def is_relevant(self, path: Path) -> bool:
        return not path.name.startswith(".")

    async def check_changes(self, paths: frozenset[Path]) -> None:
        self.checks.append(paths)
        self._notify_waiters()

    def report_problem(self, problem: str) -> bool:
        self.problems.append(problem)
        self._notify_waiters()
        return True

    @property
    def paths(self) -> set[Path]:
        """All paths reported since the last `clear`."""
        return {path for paths in self.checks for path in paths}

    def clear(self) -> None:
        """Clear the recorded paths."""
        self.checks = []

    async def wait_for_paths(self, paths: Collection[Path]) -> None:
        """Wait until all these paths were reported, then clear."""
        await self.wait_until(lambda: self.paths >= set(paths))
        self.clear()

    async def wait_until(self, is_so: Callable[[], bool]) -> None:
        """Wait until a condition holds; it is checked after each call."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while not is_so():
                await self._changed.wait()

    def _notify_waiters(self) -> None:
        # replace the event before setting it, so that a woken waiter waits for the next call
        changed, self._changed = self._changed, anyio.Event()
        changed.set()


def make_fast_events() -> DirectoryEvents:
    """Return real file events with a short polling interval."""
    return DirectoryEvents(check_seconds=CHECK_SECONDS)


@asynccontextmanager
async def open_watch(
    open_source: Callable[[], EventSource] = make_fast_events,
    wait_to_start: Callable[[], Awaitable[object]] = lowlevel.checkpoint,
) -> AsyncGenerator[FileWatch]:
    """Open a file watch whose tasks are cancelled on exit."""
    async with anyio.create_task_group() as tasks:
        yield FileWatch(open_source, make_spawn(tasks), wait_to_start)
        tasks.cancel_scope.cancel()


def make_spawn(tasks: TaskGroup) -> Callable[[TaskFunction], None]:
    """Return a function that starts tasks in a group."""

    def spawn(task: TaskFunction) -> None:
        tasks.start_soon(task)

    return spawn


def save_in_place(path: Path, text: str) -> None:
    """Overwrite the file, as VS Code does."""
    path.write_text(text)


def save_by_rename(path: Path, text: str) -> None:
    """Save atomically: write a new file and rename it over the old one."""
    new = path.with_name(f"{path.name}.new")
    new.write_text(text)
    new.replace(path)


def save_like_vim(path: Path, text: str) -> None:
    """Rename the old file, write a new one, remove the old one."""
    aside = path.with_name(f"{path.name}~")
    if path.exists():
        path.rename(aside)
    path.write_text(text)
    aside.unlink(missing_ok=True)


def save_like_emacs(path: Path, text: str) -> None:
    """Create a lock link, rename the old file to a backup, write a new one, unlock."""
    lock = path.with_name(f".#{path.name}")
    lock.symlink_to("user@machine.1:2")
    if path.exists():
        path.replace(path.with_name(f"{path.name}~"))
    path.write_text(text)
    lock.unlink()


def save_like_jetbrains(path: Path, text: str) -> None:
    """Write a temporary file, rename the old file, rename the new one, remove the old one."""
    new, aside = (path.with_name(f"{path.name}___jb_{each}___") for each in ("tmp", "old"))
    new.write_text(text)
    if path.exists():
        path.rename(aside)
    new.rename(path)
    aside.unlink(missing_ok=True)


SAVE_METHODS = {
    "VS Code": save_in_place,
    "a rename": save_by_rename,
    "vim": save_like_vim,
    "emacs": save_like_emacs,
    "JetBrains": save_like_jetbrains,
}
