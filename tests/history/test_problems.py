"""What becomes of sessions when the database cannot be used, is damaged, or goes away."""

import sqlite3
import threading
import time
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import NoReturn

import anyio
import pytest

from acp_server.history import database as database_module
from acp_server.history import writer as writer_module
from acp_server.history.archive import LazyArchive
from acp_server.history.database import RETRY_SECONDS, SessionDatabase, network_notice
from acp_server.history.errors import DatabaseDamagedError, SessionStoreError
from acp_server.history.salvage import SALVAGED_TITLE, Salvage
from acp_server.history.schema import MIGRATIONS
from acp_server.history.session_rows import GAP_NOTICE
from acp_server.history.writer import (
    LOCKED,
    NOT_SAVED,
    REPLACED,
    SALVAGED,
    SESSION_LOST,
    ArchiveWriter,
)
from acp_server.history.writer_queue import WriterQueue
from acp_server.session.errors import ArchiveError, SessionInUseError, UnknownSessionError
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    MessageChunk,
    NoticeRaised,
    PromptReceived,
)
from tests.history.samples import assistant_message, make_facts, user_message
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

Write = Callable[[Path, WriterQueue, Callable[[str], None]], None]


class Home:
    """A home's database, and what its users were told."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "acp" / "sessions.db"
        self.path.parent.mkdir()
        self.problems: list[str] = []

    @asynccontextmanager
    async def process(self, write: Write | None = None) -> AsyncGenerator[LazyArchive]:
        """Run an archive."""
        archive = LazyArchive(self.path) if write is None else LazyArchive(self.path, write)
        archive.on_problem = self.problems.append
        try:
            yield archive
        finally:
            await archive.close()

    async def keep(self, session_id: str, count: int = 1) -> None:
        """Have a session kept by a process that ends."""
        async with self.process() as archive:
            journal = archive.create(make_facts(session_id))
            for number in range(count):
                journal.append(user_message(f"{number} {'x' * 4000}"))

    async def listed(self) -> list[str]:
        """Return the ids of all sessions, as a new process finds them."""
        async with self.process() as archive:
            return [each.id for each in (await archive.page(None, None)).sessions]

    def with_directories(self) -> list[Path]:
        """Return what was moved aside."""
        return sorted(self.path.parent.glob("sessions.db.corrupt-*"))

    def moved_databases(self) -> list[Path]:
        """Return the databases that were moved aside, without their logs."""
        return [
            each for each in self.with_directories() if each.suffix[-4:] not in {"-wal", "-shm"}
        ]


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


class SmallDisk(SessionDatabase):
    """A database on a disk that can be full: SQLite itself says so."""

    is_full = False

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Generator[Connection]:
        """Let nothing grow while the disk is full."""
        with super().transaction(is_durable=is_durable) as connection:
            connection.execute(f"PRAGMA max_page_count = {1 if self.is_full else 2**30}")
            yield connection


class FailingSync(SessionDatabase):
    """A database that cannot be synced to the disk at first."""

    is_failing = True
    syncs = 0

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Generator[Connection]:
        """Fail durable transactions, or count them."""
        with super().transaction(is_durable=is_durable) as connection:
            if is_durable and self.is_failing:
                raise sqlite3.OperationalError("disk I/O error")
            yield connection
        self.syncs += is_durable


class DamagedPages(SessionDatabase):
    """A database that turns out to be damaged when it is used, for a number of times."""

    damage_count = 0

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Generator[Connection]:
        """Find damage, or run the body."""
        self._find_damage()
        with super().transaction(is_durable=is_durable) as connection:
            yield connection

    @contextmanager
    def read_transaction(self, *, may_be_removed: bool = False) -> Generator[Connection]:
        """Find damage, or run the body."""
        self._find_damage()
        with super().read_transaction(may_be_removed=may_be_removed) as connection:
            yield connection

    def _find_damage(self) -> None:
        if self.damage_count:
            self.damage_count -= 1
            raise DatabaseDamagedError("a page is damaged")


class DyingDisk(SessionDatabase):
    """A database whose use ends the thread with an error that nothing expects."""

    def read_transaction(self, *, may_be_removed: bool = False) -> NoReturn:
        """End the thread."""
        del may_be_removed
        raise ZeroDivisionError


def writer_on(disk: SessionDatabase) -> Write:
    """Return what writes to a disk."""
    return lambda _path, inbox, report: ArchiveWriter(disk, inbox, report).run()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"this is no database" * 1000, id="another file"),
        pytest.param(b"SQLite format 3\0" + b"\xff" * 5000, id="only the beginning of one"),
    ],
)
async def test_an_invalid_database_file_is_moved_aside(home: Home, content: bytes) -> None:
    home.path.write_bytes(content)
    home.path.with_name("sessions.db-wal").write_bytes(b"its log")
    await home.keep("one")
    assert await home.listed() == ["one"]
    moved = home.with_directories()[0]
    log = moved.with_name(f"{moved.name}-wal")
    assert (moved.read_bytes(), log.read_bytes()) == (content, b"its log")
    assert [str(moved) in problem for problem in home.problems] == [True]


async def test_a_database_with_damaged_pages_is_moved_aside(home: Home) -> None:
    await home.keep("one", 50)
    content = home.path.read_bytes()
    home.path.write_bytes(content[:4096] + b"\x55" * (len(content) - 4096))
    await home.keep("two")
    assert await home.listed() == ["two"]
    assert len(home.with_directories()) >= 1
    assert len(home.problems) == 1


async def test_a_failed_sync_is_repeated(home: Home) -> None:
    disk = FailingSync(home.path)
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts("one"))
        journal.append(user_message("hello"))
        journal.sync()
        await journal.commit()
        await archive.load()  # the sync follows the commit
        assert len(home.problems) == 1
        disk.is_failing = False
        journal.begin_turn()
        await journal.commit()
        await archive.load()
        assert disk.syncs == 1
        # The requested sync was made: later records are written without one.
        for _ in range(3):
            journal.append(user_message("more"))
            await journal.commit()
        assert disk.syncs == 1


async def test_damage_found_while_opening_is_answered_with_a_new_file(home: Home) -> None:
    await home.keep("old")
    disk = DamagedPages(home.path)
    disk.damage_count = 1
    async with home.process(writer_on(disk)) as archive:
        archive.create(make_facts("new")).append(user_message("hello"))
        await archive.load()
    assert "new" in await home.listed()
    assert len(home.moved_databases()) == 1


async def test_a_new_file_that_is_damaged_at_once_is_reported_and_not_replaced(home: Home) -> None:
    await home.keep("old")
    disk = DamagedPages(home.path)
    disk.damage_count = 2
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts("new"))
        await journal.commit()
        assert NOT_SAVED.format(reason="a page is damaged") in home.problems
        assert len(home.moved_databases()) == 1


async def test_damage_found_by_a_query_loses_no_open_session(home: Home) -> None:
    disk = DamagedPages(home.path)
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("hello"))
        await journal.commit()
        disk.damage_count = 1
        with pytest.raises(ArchiveError, match="a page is damaged"):
            await archive.read("one")
        assert (await archive.read("one")).messages == (user_message("hello"),)
    assert len(home.moved_databases()) == 1


async def test_an_empty_file_becomes_a_database(home: Home) -> None:
    home.path.touch()
    await home.keep("one")
    assert (await home.listed(), home.with_directories(), home.problems) == (["one"], [], [])


async def test_a_torn_log_loses_no_earlier_data(home: Home) -> None:
    await home.keep("one")
    home.path.with_name("sessions.db-wal").write_bytes(b"\x37\x7f\x06\x82" + b"\0" * 5000)
    assert (await home.listed(), home.with_directories(), home.problems) == (["one"], [], [])


async def test_several_damaged_databases_are_all_kept(home: Home) -> None:
    for _ in range(3):
        home.path.write_bytes(b"no database" * 100)
        await home.keep("one")
    assert len(home.with_directories()) == 3


async def test_open_sessions_are_written_to_a_new_file_when_theirs_is_damaged(home: Home) -> None:
    await home.keep("old", 1000)
    async with home.process() as archive:
        journal = archive.create(make_facts("new"))
        journal.append(user_message("hello"))
        journal.show(MessageChunk("a", "shown before"))
        await journal.commit()
        with closing(sqlite3.connect(home.path)) as other:
            other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with home.path.open("r+b") as file:
            file.seek(8192)
            file.write(b"\x55" * (home.path.stat().st_size - 8192))
        with pytest.raises(ArchiveError, match="damaged"):
            await archive.read("old")
        journal.append(assistant_message("hi"))
        assert (await archive.read("new")).messages == (
            user_message("hello"),
            assistant_message("hi"),
        )
    assert await home.listed() == ["new"]
    assert len(home.with_directories()) >= 1
    assert len(home.problems) == 1


async def test_a_newer_database_is_not_touched(home: Home) -> None:
    with closing(sqlite3.connect(home.path)) as other:
        other.execute("CREATE TABLE future (a)")
        other.execute("PRAGMA user_version = 99")
    before = home.path.read_bytes()
    async with home.process() as archive:
        journal = archive.create(make_facts())
        journal.begin_turn()
        journal.append(user_message("hello"))
        await journal.commit()
        with pytest.raises(ArchiveError, match="newer version"):
            await archive.read("one")
    assert home.path.read_bytes() == before
    assert [("newer version" in each) for each in home.problems] == [True]


async def test_a_home_that_is_a_file_is_reported_once(home: Home) -> None:
    home.path.parent.rmdir()
    home.path.parent.write_text("not a folder")
    async with home.process() as archive:
        for number in range(3):
            journal = archive.create(make_facts(str(number)))
            journal.begin_turn()
            journal.append(user_message("hello"))
            await journal.commit()
    assert len(home.problems) == 1


async def test_a_directory_in_place_of_the_database_is_reported(home: Home) -> None:
    home.path.mkdir()
    await home.keep("one")
    assert [str(home.path.parent) in each for each in home.problems] == [True]


async def test_on_a_full_disk_work_continues_and_saving_resumes_with_a_later_turn(
    home: Home,
) -> None:
    disk = SmallDisk(home.path)
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("before"))
        journal.show(CallAppeared("c", "t"))
        await journal.commit()
        disk.is_full = True
        journal.append(assistant_message("while full" * 10_000))
        journal.show(CallChanged("c", "completed"))
        journal.show(MessageChunk("m", "not kept"))
        await journal.commit()
        assert [("disk is full" in each) for each in home.problems] == [True]
        disk.is_full = False
        journal.begin_turn()
        journal.append(user_message("after"))
        journal.show(MessageChunk("n", "kept"))
        journal.update(make_facts(minute=9))
        await journal.commit()
        stored = await archive.read("one")
    assert stored.messages == (
        user_message("before"),
        assistant_message("while full" * 10_000),
        user_message("after"),
    )
    call, notice, chunk = stored.entries
    assert isinstance(notice, NoticeRaised)
    assert (notice.title, chunk) == (GAP_NOTICE, MessageChunk("n", "kept"))
    assert "'failed'" in repr(call)
    assert (stored.facts, stored.is_turn_open) == (make_facts(minute=9), True)
    assert len(home.problems) == 1


async def test_a_session_rebuilt_while_the_disk_was_full_is_complete(home: Home) -> None:
    disk = SmallDisk(home.path)
    await home.keep("one", 2)
    async with home.process(writer_on(disk)) as archive:
        journal = await archive.resume("one")
        disk.is_full = True
        journal.append(user_message("x" * 100_000))
        await journal.commit()
        journal.rebuild([user_message("summary")])
        disk.is_full = False
        journal.begin_turn()
        journal.append(assistant_message("after"))
        assert (await archive.read("one")).messages == (
            user_message("summary"),
            assistant_message("after"),
        )


async def test_a_session_started_on_a_full_disk_is_saved_later(home: Home) -> None:
    disk = SmallDisk(home.path)
    disk.is_full = True
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("first"))
        await journal.commit()
        disk.is_full = False
        journal.begin_turn()
        journal.append(user_message("second"))
    assert await home.listed() == ["one"]


async def test_a_session_started_after_saving_failed_is_saved_once(home: Home) -> None:
    disk = SmallDisk(home.path)
    disk.is_full = True
    async with home.process(writer_on(disk)) as archive:
        first = archive.create(make_facts("first"))
        first.append(user_message("x" * 100_000))
        await first.commit()
        assert len(home.problems) == 1
        second = archive.create(make_facts("second"))
        second.append(user_message("hello"))
        second.show(MessageChunk("m", "not kept"))
        await second.commit()
        disk.is_full = False
        second.begin_turn()
        stored = await archive.read("second")
    assert stored.messages == (user_message("hello"),)
    prompt, notice = stored.entries  # from memory
    assert isinstance(prompt, PromptReceived)
    assert isinstance(notice, NoticeRaised)


@pytest.mark.parametrize("closes_session", [True, False], ids=["session", "process"])
async def test_what_could_not_be_saved_is_saved_when_it_is_closed(
    home: Home, *, closes_session: bool
) -> None:
    disk = SmallDisk(home.path)
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts())
        await journal.commit()
        disk.is_full = True
        journal.append(user_message("x" * 100_000))
        await journal.commit()
        assert len(home.problems) == 1
        disk.is_full = False
        if closes_session:
            await journal.close()
    async with home.process() as archive:
        assert (await archive.read("one")).messages == (user_message("x" * 100_000),)


async def test_a_problem_that_returns_is_reported_again(home: Home) -> None:
    disk = SmallDisk(home.path)
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts())
        for number in range(3):
            journal.begin_turn()
            await journal.commit()
            disk.is_full = True
            journal.append(user_message("x" * 100_000))
            await journal.commit()
            assert len(home.problems) == number + 1
            disk.is_full = False


async def test_a_session_deleted_elsewhere_while_saving_failed_is_given_up(home: Home) -> None:
    disk = SmallDisk(home.path)
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("hello"))
        await journal.commit()
        disk.is_full = True
        journal.append(user_message("x" * 100_000))
        await journal.commit()
        async with home.process() as other:
            await other.delete("one")
        disk.is_full = False
        journal.begin_turn()
        await journal.commit()
    assert home.problems[1:] == [SESSION_LOST.format(session_id="one")]
    assert await home.listed() == []


async def test_records_do_not_accumulate_while_saving_fails(home: Home) -> None:
    home.path.mkdir()
    inboxes: list[WriterQueue] = []

    def write(path: Path, inbox: WriterQueue, on_problem: Callable[[str], None]) -> None:
        inboxes.append(inbox)
        ArchiveWriter(SessionDatabase(path), inbox, on_problem).run()

    async with home.process(write) as archive:
        journal = archive.create(make_facts())
        for _ in range(10):
            for _ in range(1000):
                journal.show(MessageChunk("m", "x"))
            await journal.commit()
            assert len(inboxes[0]) == 0


def remove_database(home: Home) -> None:
    """Delete the file and its companions."""
    for path in home.path.parent.glob("sessions.db*"):
        path.unlink()


@pytest.mark.parametrize("is_replaced", [False, True], ids=["removed", "replaced"])
async def test_open_sessions_survive_the_loss_of_their_file(
    home: Home, *, is_replaced: bool
) -> None:
    await home.keep("old")
    async with home.process() as archive:
        made = archive.create(make_facts("made"))
        made.append(user_message("hello"))
        made.show(MessageChunk("a", "shown before"))
        resumed = await archive.resume("old")
        await made.commit()
        remove_database(home)
        if is_replaced:
            with closing(sqlite3.connect(home.path)):
                home.path.touch()
        made.append(assistant_message("hi"))
        resumed.append(assistant_message("go on"))
        await made.commit()
        found = await archive.read("made")
        assert found.messages == (user_message("hello"), assistant_message("hi"))
        assert found.entries == (MessageChunk("a", "shown before"),)
        _, last = (await archive.read("old")).messages
        assert last == assistant_message("go on")
    assert sorted(await home.listed()) == ["made", "old"]
    assert home.problems == [REPLACED.format(path=home.path)]


async def test_an_older_copy_that_is_put_back_does_not_take_an_open_session_back(
    home: Home,
) -> None:
    await home.keep("closed")
    async with home.process() as archive:
        journal = archive.create(make_facts("open"))
        journal.append(user_message("one"))
        await journal.commit()
        copy = home.path.with_name("copy.db")
        with closing(sqlite3.connect(home.path)) as other:
            other.execute("VACUUM INTO ?", (str(copy),))
        journal.append(assistant_message("two"))
        await journal.commit()
        remove_database(home)
        copy.rename(home.path)
        journal.append(user_message("three"))
        await journal.commit()
        expected = (user_message("one"), assistant_message("two"), user_message("three"))
        assert (await archive.read("open")).messages == expected
    assert sorted(await home.listed()) == ["closed", "open"]


class ForgottenFile(SessionDatabase):
    """A database that cannot be read any more once it was removed."""

    @contextmanager
    def read_transaction(self, *, may_be_removed: bool = False) -> Generator[Connection]:
        """Read only the file in place."""
        if may_be_removed:
            raise SessionStoreError("the file is gone")
        with super().read_transaction() as connection:
            yield connection


@pytest.mark.parametrize("is_resumed", [False, True], ids=["created", "resumed"])
async def test_a_session_whose_file_is_lost_is_written_again_from_memory(
    home: Home, *, is_resumed: bool
) -> None:
    asked: list[str] = []
    if is_resumed:
        await home.keep("one")

    def write(path: Path, inbox: WriterQueue, report: Callable[[str], None]) -> None:
        ArchiveWriter(ForgottenFile(path), inbox, report, request_messages=asked.append).run()

    async with home.process(write) as archive:
        journal = await archive.resume("one") if is_resumed else archive.create(make_facts())
        conversation = list((await archive.read("one")).messages)
        conversation += [user_message("hello"), assistant_message("hi")]
        for message in conversation[-2:]:
            journal.append(message)
        await journal.commit()
        remove_database(home)
        journal.show(MessageChunk("b", "lost with the file"))
        await journal.commit()
        assert asked == (["one"] if is_resumed else [])
        for _ in asked:  # as the session does
            journal.update(make_facts("one"))
            journal.rebuild(conversation)
        journal.append(user_message("more"))
        stored = await archive.read("one")
    assert stored.messages == (*conversation, user_message("more"))
    assert [each.text for each in stored.entries if isinstance(each, MessageChunk)] == ["hi"]
    prompts = [each for each in stored.entries if isinstance(each, PromptReceived)]
    assert "hello" in repr(prompts)
    assert isinstance(stored.entries[-1], NoticeRaised)
    assert await home.listed() == ["one"]
    assert home.problems == [REPLACED.format(path=home.path)]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait only briefly for locks."""
    monkeypatch.setattr(database_module, "LOCK_TIMEOUT_SECONDS", 0.01)
    monkeypatch.setattr(writer_module, "LOCK_RETRY_SECONDS", 0.01)


@contextmanager
def locked_by_another_program(home: Home) -> Generator[None]:
    """Lock the database."""
    with closing(sqlite3.connect(home.path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield
        other.execute("ROLLBACK")


@pytest.mark.usefixtures("hasty")
async def test_while_another_program_locks_the_database_nothing_is_lost(home: Home) -> None:
    async with home.process() as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("before"))
        journal.show(CallAppeared("c", "t"))
        await journal.commit()
        with locked_by_another_program(home):
            for number in range(3):
                journal.begin_turn()
                journal.append(user_message(f"while locked {number}"))
                journal.show(MessageChunk(f"m{number}", "shown"))
                journal.end_turn()
                journal.sync()
                await journal.commit()
            journal.show(CallChanged("c", "completed"))
            await journal.commit()
            assert home.problems == [LOCKED.format(reason=busy_reason(home))]
            with pytest.raises(ArchiveError, match="locked"):
                await archive.read("one")  # the file has an older state only
        stored = await archive.read("one")
    assert len(stored.messages) == 4
    call, *chunks = stored.entries
    assert chunks == [MessageChunk(f"m{number}", "shown") for number in range(3)]
    assert "'completed'" in repr(call)
    assert len(home.problems) == 1


def busy_reason(home: Home) -> str:
    """Return why a locked database cannot be used."""
    return f"another program has locked {home.path}"


@pytest.mark.usefixtures("hasty")
async def test_rows_are_written_when_the_lock_is_gone_without_another_prompt(home: Home) -> None:
    async with home.process() as archive:
        journal = archive.create(make_facts())
        await journal.commit()
        with locked_by_another_program(home):
            journal.append(user_message("hello"))
            await journal.commit()
        with closing(sqlite3.connect(home.path)) as other, anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while other.execute("SELECT count(*) FROM messages").fetchone() != (1,):  # noqa: ASYNC110 - a thread writes it
                await anyio.sleep(0.01)


@pytest.mark.usefixtures("hasty")
async def test_a_lock_at_the_start_loses_nothing(home: Home) -> None:
    await home.keep("old")
    async with home.process() as archive:
        with locked_by_another_program(home):
            journal = archive.create(make_facts())
            journal.append(user_message("hello"))
            journal.show(MessageChunk("m", "shown"))
            await journal.commit()
            assert home.problems == [LOCKED.format(reason=busy_reason(home))]
            assert archive.problem is None or "locked" in archive.problem
            with pytest.raises(ArchiveError, match="locked"):
                await archive.resume("old")
        stored = await archive.read("one")
    assert (stored.messages, stored.entries) == (
        (user_message("hello"),),
        (MessageChunk("m", "shown"),),
    )


@pytest.mark.usefixtures("hasty")
async def test_a_session_closed_while_the_database_is_locked_is_written_and_released_later(
    home: Home,
) -> None:
    async with home.process() as archive, home.process() as other:
        journal = archive.create(make_facts())
        await journal.commit()
        with locked_by_another_program(home):
            journal.append(user_message("hello"))
            await journal.close()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while True:
                try:
                    await other.resume("one")
                    break
                except (SessionInUseError, UnknownSessionError, ArchiveError):
                    await anyio.sleep(0.01)
        assert (await other.read("one")).messages == (user_message("hello"),)


@pytest.mark.usefixtures("hasty")
async def test_a_lock_that_returns_is_reported_again(home: Home) -> None:
    async with home.process() as archive:
        journal = archive.create(make_facts())
        await journal.commit()
        for number in range(2):
            with locked_by_another_program(home):
                journal.append(user_message("hello"))
                await journal.commit()
                assert len(home.problems) == number + 1
            await archive.read("one")


async def keep_sessions(home: Home, count: int) -> bytearray:
    """Keep sessions of a hundred kilobytes in all, and return the database."""
    for number in range(count):
        await home.keep(f"s{number}", 10)
    with closing(sqlite3.connect(home.path)) as other:
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return bytearray(home.path.read_bytes())


async def test_what_can_be_read_of_a_damaged_database_is_listed_again(home: Home) -> None:
    content = await keep_sessions(home, 8)
    with closing(sqlite3.connect(home.path)) as other:
        leaves = other.execute(
            "SELECT (pageno - 1) * 4096 FROM dbstat WHERE name = 'messages' AND pagetype = 'leaf'"
        ).fetchall()
    # One that has no session's first message.
    pages = [slice(start, start + 4096) for (start,) in leaves]
    content[next(each for each in pages if b"0 xxx" not in content[each])] = b"\x55" * 4096
    home.path.write_bytes(content)
    database = SessionDatabase(home.path)
    database.open()
    with database.read_transaction() as connection, pytest.raises(sqlite3.DatabaseError):
        connection.execute("SELECT * FROM messages").fetchall()
    database.close()
    disk = DamagedPages(home.path)
    disk.damage_count = 1
    async with home.process(writer_on(disk)) as archive:
        journal = archive.create(make_facts("new"))
        journal.append(user_message("hello"))
        await journal.commit()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while len(home.problems) < 2:  # noqa: ASYNC110 - a thread reports it
                await anyio.sleep(0.01)
        listed = [each.id for each in (await archive.page(None, None)).sessions]
        assert sorted(listed) == ["new", *(f"s{number}" for number in range(8))]
        whole = [len((await archive.read(f"s{number}")).messages) == 10 for number in range(8)]
        assert whole.count(False) == 1
    assert home.problems[1:] == [SALVAGED.format(count=8)]
    [aside] = home.moved_databases()
    assert aside.read_bytes() == content


def test_a_salvaged_conversation_ends_before_a_hole(home: Home, tmp_path: Path) -> None:
    damaged = SessionDatabase(tmp_path / "damaged.db")
    damaged.open()
    with damaged.transaction() as connection:
        connection.execute("PRAGMA defer_foreign_keys = ON")
        for seq in (0, 1, 3):
            connection.execute("INSERT INTO messages VALUES ('one', ?, 0, 'body')", (seq,))
        connection.execute("INSERT INTO messages VALUES ('open', 0, 0, 'body')")
        connection.execute(
            "INSERT INTO sessions (id, cwd, additional, created_us, updated_us, title, mode,"
            " input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,"
            " cache_write_1h_tokens, requests, context_tokens)"
            " SELECT id, '/', '[]', 1, 1, '', 'ask', 0, 0, 0, 0, 0, 0, 0"
            " FROM (SELECT 'one' AS id UNION SELECT 'open')"
        )
    damaged.close()
    # The rows of the sessions themselves are lost.
    with closing(sqlite3.connect(damaged.path)) as other:
        other.execute("DELETE FROM sessions")
        other.commit()
    database, salvage = SessionDatabase(home.path), Salvage(damaged.path)
    database.open()
    is_more = True
    while is_more:
        with database.transaction() as connection:
            is_more = salvage.step(connection, {"open"}, 5)
    with database.read_transaction() as connection:
        rows = connection.execute("SELECT session_id, seq FROM messages ORDER BY seq").fetchall()
        facts = connection.execute("SELECT id, title, updated_us FROM sessions").fetchall()
    database.close()
    assert rows == [("one", 0), ("one", 1)]
    assert facts == [("one", SALVAGED_TITLE, 5)]


async def test_on_a_network_file_system_wal_is_disabled_and_this_is_reported(home: Home) -> None:
    def write(path: Path, inbox: WriterQueue, report: Callable[[str], None]) -> None:
        ArchiveWriter(SessionDatabase(path, is_network=lambda _folder: True), inbox, report).run()

    for session_id in ("one", "two"):
        async with home.process(write) as archive:
            archive.create(make_facts(session_id)).append(user_message("hello"))
            await archive.read(session_id)
            with closing(sqlite3.connect(home.path)) as other:
                assert other.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert home.problems == [network_notice(home.path)] * 2


async def test_a_second_migration_is_applied_to_existing_data(home: Home) -> None:
    await home.keep("one")
    second = ("ALTER TABLE sessions ADD COLUMN colour TEXT", "UPDATE sessions SET colour = 'red'")
    database = SessionDatabase(home.path, (*MIGRATIONS, second))
    database.open()
    with database.read_transaction() as connection:
        assert connection.execute("SELECT id, colour FROM sessions").fetchall() == [("one", "red")]
        assert connection.execute("PRAGMA user_version").fetchone() == (len(MIGRATIONS) + 1,)
    database.close()


async def test_a_failed_migration_leaves_everything_unchanged(home: Home) -> None:
    await home.keep("one")
    broken = ("ALTER TABLE sessions ADD COLUMN colour TEXT", "UPDATE absent SET colour = 'red'")
    database = SessionDatabase(home.path, (*MIGRATIONS, broken))
    with pytest.raises(Exception, match="no such table"):
        database.open()
    database.close()
    assert await home.listed() == ["one"]


def exit_immediately(_path: Path, _queue: WriterQueue, _on_problem: Callable[[str], None]) -> None:
    """End at once, as a thread does that fails."""


async def test_callers_do_not_wait_forever_when_the_writer_dies(home: Home) -> None:
    async with home.process(exit_immediately) as archive:
        journal = archive.create(make_facts())
        await journal.commit()
        journal.append(user_message("into the void"))
        await journal.commit()
        with pytest.raises(ArchiveError):
            await archive.page(None, None)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # on purpose
async def test_a_query_that_the_writer_dies_with_fails(home: Home) -> None:
    async with home.process(writer_on(DyingDisk(home.path))) as archive:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS), pytest.raises(ArchiveError):
            await archive.page(None, None)


async def test_an_unused_archive_starts_no_thread_and_creates_no_file(home: Home) -> None:
    LazyArchive(home.path).create(make_facts()).append(user_message("hello"))
    assert not [thread for thread in threading.enumerate() if thread.name == "acp-history"]
    assert list(home.path.parent.iterdir()) == []


class BrieflyLockedConnection(sqlite3.Connection):
    """A connection whose tables another one locks: SQLite reports that without waiting."""

    refusals = 3

    def execute(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, sql: str, parameters: Sequence[str] = ()
    ) -> sqlite3.Cursor:
        """Refuse the first transactions."""
        if sql == "BEGIN IMMEDIATE" and self.refusals:
            self.refusals -= 1
            error = sqlite3.OperationalError("database table is locked")
            error.sqlite_errorcode = sqlite3.SQLITE_LOCKED
            raise error
        return super().execute(sql, parameters)


def test_a_lock_that_sqlite_does_not_wait_for_is_tried_again_after_pauses(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    connect = partial(sqlite3.connect, factory=BrieflyLockedConnection)
    monkeypatch.setattr(sqlite3, "connect", connect)
    database = SessionDatabase(home.path)
    database.open()
    database.close()
    assert pauses == [RETRY_SECONDS] * 3
