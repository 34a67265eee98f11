"""Real folders, watched for real: what the system tells of, whatever is done to them."""

import shutil
import threading
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from watchfiles import Change

from acp_server.session.prompting.directory_events import (
    DirectoryEvents,
    FileNotifier,
    RawChanges,
    open_notifier,
)
from acp_server.session.prompting.file_watch import PathFilter
from tests.session.watch_listener import CHECK_SECONDS, SAVE_METHODS, RecordingListener, open_watch

Save = Callable[[Path, str], None]
NAME = "AGENTS.md"
LIMIT = "OS file watch limit reached"
RAW_LIMIT = f'{LIMIT}. about ["/a"] (Error {{ kind: MaxFilesWatch, paths: ["/a"] }})'


def lead(link: Path, folder: Path) -> None:
    """Make a link lead to a folder, at once if it led to another one."""
    new = link.with_name("new")
    new.symlink_to(folder)
    new.replace(link)


@pytest.mark.parametrize("save", SAVE_METHODS.values(), ids=SAVE_METHODS.keys())
async def test_a_file_change_is_reported_however_an_editor_saves_it(
    tmp_path: Path, save: Save
) -> None:
    async with open_watch() as watch:
        listener, path = RecordingListener(), tmp_path / NAME
        watch.subscribe(listener).watch({tmp_path})
        await listener.wait_for_paths({tmp_path})
        save(path, "made")
        await listener.wait_for_paths({path})
        save(path, "changed")
        await listener.wait_for_paths({path})


async def test_a_removed_or_renamed_file_is_reported(tmp_path: Path) -> None:
    one, two = tmp_path / NAME, tmp_path / "CLAUDE.md"
    one.write_text("text")
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({tmp_path})
        await listener.wait_for_paths({tmp_path})
        one.rename(two)
        await listener.wait_for_paths({one, two})
        two.unlink()
        await listener.wait_for_paths({two})


async def test_irrelevant_files_and_subdirectories_are_not_reported(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({tmp_path})
        await listener.wait_for_paths({tmp_path})
        (tmp_path / ".lock").write_text("x")
        (tmp_path / "sub" / NAME).write_text("x")
        (tmp_path / NAME).write_text("x")
        await listener.wait_until(lambda: bool(listener.checks))
        assert listener.paths == {tmp_path / NAME}


async def test_a_directory_that_is_removed_and_recreated_is_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / NAME).write_text("text")
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({folder})
        await listener.wait_for_paths({folder})
        shutil.rmtree(folder)
        await listener.wait_for_paths({folder})
        folder.mkdir()
        await listener.wait_for_paths({folder})
        (folder / NAME).write_text("text")
        await listener.wait_for_paths({folder / NAME})


async def test_a_directory_that_is_replaced_is_watched_again(tmp_path: Path) -> None:
    one, two, parent = (tmp_path / name for name in ("one", "two", "parent"))
    folder = parent / "a"
    (one / "a").mkdir(parents=True)
    (two / "a").mkdir(parents=True)
    lead(parent, one)
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({folder})
        await listener.wait_for_paths({folder})
        lead(parent, two)
        await listener.wait_for_paths({folder})
        (folder / NAME).write_text("text")
        await listener.wait_for_paths({folder / NAME})


async def test_a_directory_may_be_missing_at_the_start(tmp_path: Path) -> None:
    folder = tmp_path / ".cursor" / "rules"
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({folder})
        await listener.wait_for_paths({folder})
        folder.mkdir(parents=True)
        await listener.wait_for_paths({folder})
        (folder / "all.mdc").write_text("text")
        await listener.wait_for_paths({folder / "all.mdc"})


async def test_a_linked_directory_is_reported_by_its_given_path(tmp_path: Path) -> None:
    real, other, link = (tmp_path / name for name in ("real", "other", "link"))
    real.mkdir()
    other.mkdir()
    lead(link, real)
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({link, real})
        await listener.wait_for_paths({link, real})
        (real / NAME).write_text("text")
        await listener.wait_for_paths({link / NAME, real / NAME})
        lead(link, other)
        await listener.wait_for_paths({link})
        (other / NAME).write_text("text")
        await listener.wait_for_paths({link / NAME})


async def test_a_file_in_place_of_a_directory_is_not_watched(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("text")
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({path})
        await listener.wait_for_paths({path})
        path.unlink()
        path.mkdir()
        await listener.wait_for_paths({path})
        assert listener.problems == []


async def test_a_non_utf8_name_does_not_stop_the_watch(tmp_path: Path) -> None:
    async with open_watch() as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({tmp_path})
        await listener.wait_for_paths({tmp_path})
        try:
            (tmp_path / "odd\udcff.md").write_text("text")
        except OSError:
            pytest.skip("this file system has UTF-8 names only")
        (tmp_path / NAME).write_text("text")
        await listener.wait_until(lambda: bool(listener.paths & {tmp_path, tmp_path / NAME}))
        listener.clear()
        (tmp_path / NAME).write_text("more")
        await listener.wait_until(lambda: bool(listener.paths & {tmp_path, tmp_path / NAME}))


async def test_two_hundred_directories_use_two_threads(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(200)]
    for folder in folders:
        folder.mkdir()
    async with open_watch() as watch:
        listener = RecordingListener()
        subscription = watch.subscribe(listener)
        before = threading.active_count()
        for count in (50, 100, 200):  # a set that grows is followed
            subscription.watch(folders[:count])
            await listener.wait_for_paths(folders[count // 2 : count])
        assert threading.active_count() - before <= 1  # the other one is the system's part of it
        for folder in folders:
            (folder / NAME).write_text("text")
        await listener.wait_for_paths([folder / NAME for folder in folders])


async def test_a_change_during_an_update_of_the_watch_set_is_reported(tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(20)]
    for folder in folders:
        folder.mkdir()
    async with open_watch() as watch:
        listener = RecordingListener()
        subscription = watch.subscribe(listener)
        subscription.watch(folders[:1])
        await listener.wait_for_paths(folders[:1])
        for number in range(2, 20):
            subscription.watch(folders[:number])
            (folders[0] / f"{number}.md").write_text("text")
        await listener.wait_for_paths([folders[0] / f"{number}.md" for number in range(2, 20)])


class LimitedNotifierFactory:
    """A system that has watches for a few folders only."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.requested_counts: list[int] = []

    def open(self, folders: Iterable[Path]) -> FileNotifier:
        requested = list(folders)
        self.requested_counts.append(len(requested))
        if len(requested) > self.most:
            raise OSError(RAW_LIMIT)
        return open_notifier(requested)

    def events(self) -> DirectoryEvents:
        """Return events of this system."""
        return DirectoryEvents(self.open, check_seconds=CHECK_SECONDS)


async def test_running_out_of_watches_is_reported_once_and_existing_ones_work(
    tmp_path: Path,
) -> None:
    one, two, three = folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    system = LimitedNotifierFactory(1)
    async with open_watch(system.events) as watch:
        early, late = RecordingListener(), RecordingListener()
        watch.subscribe(early).watch({one})
        await early.wait_for_paths({one})
        subscription = watch.subscribe(late)
        subscription.watch({two})
        await late.wait_until(lambda: bool(late.problems))
        (one / NAME).write_text("text")
        await early.wait_for_paths({one / NAME})
        subscription.watch({two, three})
        (one / NAME).write_text("more")
        await early.wait_for_paths({one / NAME})
        system.most = 3
        subscription.watch({three})
        await late.wait_for_paths({three})
        assert (early.problems, late.problems) == ([], [LIMIT])
        assert system.requested_counts[:2] == [1, 2]


async def test_a_directory_removed_while_watching_starts_is_awaited(tmp_path: Path) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    tries: list[Path] = []

    def open_late(folders: Iterable[Path]) -> FileNotifier:
        requested = list(folders)
        if not tries:
            folder.rmdir()
        tries.extend(requested or [folder])
        return open_notifier(requested)

    async with open_watch(lambda: DirectoryEvents(open_late, check_seconds=CHECK_SECONDS)) as watch:
        listener = RecordingListener()
        watch.subscribe(listener).watch({folder})
        await listener.wait_for_paths({folder})
        folder.mkdir()
        await listener.wait_for_paths({folder})
        assert listener.problems == []


def test_a_listener_added_while_changes_are_collected_receives_them(tmp_path: Path) -> None:
    """Two want the folder; the first cares for nothing in it."""
    requested: dict[Path, tuple[PathFilter, ...]] = {tmp_path: (lambda _path: False,)}

    class Late:
        def collect(self) -> RawChanges:
            requested[tmp_path] = (*requested[tmp_path], RecordingListener().is_relevant)
            return {(Change.modified, str(tmp_path.resolve() / NAME))}

        def close(self) -> None: ...

    events = DirectoryEvents(lambda _folders: Late())
    is_over = threading.Event()
    assert events.wait(lambda: {**requested}, is_over).paths == {tmp_path}
    assert events.wait(lambda: {**requested}, is_over).paths == {tmp_path / NAME}


def test_missing_directories_do_not_restart_the_watching(tmp_path: Path) -> None:
    folder, link = tmp_path / "a/rules", tmp_path / "link"
    folder.mkdir(parents=True)
    link.symlink_to(tmp_path / "a")
    opened: list[frozenset[Path]] = []

    class Quiet:
        def collect(self) -> RawChanges:
            return set()

        def close(self) -> None: ...

    def open_quiet(folders: Iterable[Path]) -> Quiet:
        opened.append(frozenset(folders))
        return Quiet()

    events, is_over = DirectoryEvents(open_quiet, check_seconds=0.0), threading.Event()
    missing, more = tmp_path / "missing", tmp_path / "a/more"
    wanted = dict.fromkeys((link / "rules",), (RecordingListener().is_relevant,))

    def wait_with(*added: Path) -> frozenset[Path]:
        wanted.update(dict.fromkeys(added, wanted[link / "rules"]))
        return events.wait(lambda: {**wanted}, is_over).paths

    assert wait_with() == {link / "rules"}
    # The new directory is reported, as always, but the others are not watched anew.
    assert wait_with(missing) == {missing}
    assert opened == [{folder.resolve()}]
    more.mkdir()
    assert wait_with(more) == {more}
    missing.mkdir()
    assert wait_with() == {missing}
    both = {folder.resolve(), more.resolve()}
    assert opened[1:] == [both, both | {missing.resolve()}]


def test_stopping_ends_the_wait(tmp_path: Path) -> None:
    is_over, events = threading.Event(), DirectoryEvents()
    requested = {tmp_path: (RecordingListener().is_relevant,)}
    assert events.wait(lambda: requested, is_over).paths == {tmp_path}
    is_over.set()
    assert events.wait(lambda: requested, is_over).paths == frozenset()
