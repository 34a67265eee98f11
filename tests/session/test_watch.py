"""The watch that sessions share: who is given what, when; without a disk."""

import queue
import threading
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest

from acp_server.session.prompting.file_watch import (
    MAX_CONCURRENT_CHECKS,
    EventSource,
    WatchedDirectories,
    WatchResult,
)
from tests.session.watch_listener import RecordingListener, open_watch
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

ROOT, SUB, ELSEWHERE = Path("/root"), Path("/root/sub"), Path("/elsewhere")


class ScriptedEventSource:
    """A source that tells what the test says; each wait is over with the next thing said."""

    def __init__(self) -> None:
        self.results: queue.Queue[WatchResult] = queue.Queue()
        self.requests: list[frozenset[Path]] = []
        self.is_closed = threading.Event()

    def wait(
        self, requested: Callable[[], WatchedDirectories], is_closed: threading.Event
    ) -> WatchResult:
        self.is_closed = is_closed
        while requested() and not is_closed.is_set():
            self.requests.append(frozenset(requested()))
            try:
                return self.results.get(timeout=0.01)
            except queue.Empty:
                continue
        return WatchResult()

    def push_result(self, *paths: Path, problem: str = "") -> None:
        """Tell of paths."""
        self.results.put(WatchResult(frozenset(paths), problem))

    def open(self) -> EventSource:
        """Return itself."""
        return self


async def test_each_listener_receives_relevant_changes_in_its_directories() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        one, two = RecordingListener(), RecordingListener()
        watch.subscribe(one).watch({ROOT, SUB})
        watch.subscribe(two).watch({SUB})
        await two.wait_for_paths({SUB})  # another one had it: said at once
        source.push_result(ROOT / "a.md", ROOT / ".b", ELSEWHERE / "c.md", SUB / "d.md")
        await one.wait_for_paths({ROOT / "a.md", SUB / "d.md"})
        await two.wait_for_paths({SUB / "d.md"})
        source.push_result(SUB, ROOT / "e.md")
        await one.wait_until(lambda: bool(one.checks))
        await two.wait_until(lambda: bool(two.checks))
        assert (one.checks, two.checks) == ([{SUB, ROOT / "e.md"}], [{SUB}])


async def test_a_late_start_finds_the_directories_as_they_are_wanted_then(tmp_path: Path) -> None:
    is_waiting, may_start = anyio.Event(), anyio.Event()

    async def wait_to_start() -> None:
        is_waiting.set()
        await may_start.wait()

    async with open_watch(wait_to_start=wait_to_start) as watch:
        listener = RecordingListener()
        subscription = watch.subscribe(listener)
        subscription.watch({tmp_path})
        await is_waiting.wait()
        (tmp_path / "early.md").write_text("Be kind.")
        (tmp_path / "sub").mkdir()
        subscription.watch({tmp_path, tmp_path / "sub"})
        may_start.set()
        await listener.wait_for_paths({tmp_path, tmp_path / "sub"})
        (tmp_path / "sub" / "late.md").write_text("Be brief.")
        await listener.wait_for_paths({tmp_path / "sub" / "late.md"})


async def test_a_directory_is_watched_while_subscribed() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        one, two = RecordingListener(), RecordingListener()
        first, second = watch.subscribe(one), watch.subscribe(two)
        first.watch({ROOT})
        second.watch({ROOT, SUB})
        first.close()
        first.close()
        source.push_result(ROOT / "a.md")
        await two.wait_for_paths({ROOT / "a.md"})
        second.watch({SUB})
        source.push_result(ROOT / "b.md", SUB / "c.md")
        await two.wait_until(lambda: bool(two.checks))
        assert (one.checks, two.checks) == ([], [{SUB / "c.md"}])
        source.push_result(SUB / "d.md")  # a wait that began after the set was another
        await two.wait_for_paths({SUB / "d.md"})
        assert source.requests[-1] == {SUB}


async def test_the_watch_thread_runs_only_while_something_is_watched() -> None:
    source, opened = ScriptedEventSource(), list[str]()

    def open_source() -> EventSource:
        opened.append(threading.current_thread().name)
        return source

    async with open_watch(open_source) as watch:
        listener = RecordingListener()
        subscription = watch.subscribe(listener)
        await anyio.wait_all_tasks_blocked()
        assert opened == []
        for path in (ROOT / "a.md", ROOT / "b.md"):  # it begins and ends twice
            subscription.watch({ROOT})
            source.push_result(path)
            await listener.wait_for_paths({path})
            subscription.watch(())
            with anyio.fail_after(HANG_TIMEOUT_SECONDS):
                await anyio.wait_all_tasks_blocked()
        assert len(opened) == 1
        assert opened != [threading.current_thread().name]


class SlowListener(RecordingListener):
    """Looks only when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.started = 0
        self.may_look = anyio.Event()

    async def check_changes(self, paths: frozenset[Path]) -> None:
        self.started += 1
        await self.may_look.wait()
        await super().check_changes(paths)


async def test_changes_during_a_check_are_batched_into_the_next_one() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        slow, other = SlowListener(), RecordingListener()
        watch.subscribe(other).watch({ROOT})
        watch.subscribe(slow).watch({ROOT})
        for name in ("a.md", "b.md", "c.md"):
            source.push_result(ROOT / name)
            await other.wait_for_paths({ROOT / name})
        slow.may_look.set()
        await slow.wait_until(lambda: len(slow.checks) == 2)
        assert slow.checks == [{ROOT}, {ROOT / name for name in ("a.md", "b.md", "c.md")}]


async def test_only_a_few_checks_run_at_once() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        listeners = [SlowListener() for _ in range(MAX_CONCURRENT_CHECKS + 3)]
        for listener in listeners:
            watch.subscribe(listener).watch({listener_folder(listener)})
        source.push_result(*(listener_folder(listener) for listener in listeners))
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while sum(listener.started for listener in listeners) < MAX_CONCURRENT_CHECKS:
                await anyio.wait_all_tasks_blocked()
        await anyio.wait_all_tasks_blocked()
        assert sum(listener.started for listener in listeners) == MAX_CONCURRENT_CHECKS
        for listener in listeners:
            listener.may_look.set()
        for listener in listeners:
            await listener.wait_for_paths({listener_folder(listener)})


def listener_folder(listener: RecordingListener) -> Path:
    """Return a folder of a listener's own."""
    return ROOT / str(id(listener))


async def test_a_closed_listener_receives_no_pending_changes() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        slow, other = SlowListener(), RecordingListener()
        watch.subscribe(other).watch({ROOT})
        subscription = watch.subscribe(slow)
        subscription.watch({ROOT})
        source.push_result(ROOT / "a.md")
        await other.wait_for_paths({ROOT / "a.md"})
        subscription.close()
        slow.may_look.set()
        source.push_result(ROOT / "b.md")
        await other.wait_for_paths({ROOT / "b.md"})
        assert slow.checks == [{ROOT}]


async def test_a_problem_is_reported_once_to_the_latest_subscriber(
    caplog: pytest.LogCaptureFixture,
) -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        one, two = RecordingListener(), RecordingListener()
        watch.subscribe(one).watch({ROOT})
        watch.subscribe(two).watch({SUB})
        source.push_result(problem="no watches are left")
        source.push_result(problem="again none")
        source.push_result(ROOT / "a.md")
        await one.wait_for_paths({ROOT / "a.md"})
        assert (one.problems, two.problems) == ([], ["no watches are left"])
        assert caplog.messages == ["directories cannot be watched: no watches are left"]


async def test_a_failed_import_is_reported_and_tried_again_with_other_directories() -> None:
    source, errors = ScriptedEventSource(), [ImportError(name="watchfiles")]

    def open_source() -> EventSource:
        if errors:
            raise errors.pop()
        return source

    async with open_watch(open_source) as watch:
        listener = RecordingListener()
        subscription = watch.subscribe(listener)
        subscription.watch({ROOT})
        await listener.wait_until(lambda: len(listener.problems) == 1)
        subscription.watch({ROOT, SUB})
        source.push_result(SUB)
        await listener.wait_for_paths({SUB})
        assert len(listener.problems) == 1


async def test_a_cancelled_watch_releases_its_thread() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({ROOT})
        source.push_result(ROOT)
        await listener.wait_for_paths({ROOT})
    assert source.is_closed.is_set()


async def test_a_listener_without_an_initial_read_receives_only_new_changes() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        one, two = RecordingListener(), RecordingListener()
        watch.subscribe(one).watch({ROOT})
        subscription = watch.subscribe(two)
        subscription.watch({ROOT}, is_read=False)
        source.push_result(ROOT / "a.md")
        await two.wait_until(lambda: bool(two.checks))
        assert two.checks == [{ROOT / "a.md"}]
        two.clear()
        subscription.check_all()
        await two.wait_until(lambda: bool(two.checks))
        assert two.checks == [{ROOT}]


async def test_a_closed_subscription_watches_nothing() -> None:
    source = ScriptedEventSource()
    async with open_watch(source.open) as watch:
        one, two = RecordingListener(), RecordingListener()
        watch.subscribe(one).watch({ROOT})
        subscription = watch.subscribe(two)
        subscription.close()
        subscription.watch({ROOT, SUB})
        source.push_result(ROOT / "a.md")
        await one.wait_for_paths({ROOT / "a.md"})
        assert (two.checks, source.requests[-1]) == ([], {ROOT})
