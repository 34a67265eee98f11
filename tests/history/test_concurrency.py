"""Other programs that hold the database, and searches that follow what is recorded."""

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import anyio

from acp_server.history.archive import LazyArchive
from tests.history.samples import make_facts, user_message
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


def hold(path: Path, is_held: Event, is_enough: Event) -> None:
    """Keep the database to oneself until it is enough."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        is_held.set()
        is_enough.wait(10)
        connection.rollback()


async def test_a_locked_database_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    problems: list[str] = []
    archive = LazyArchive(path)
    archive.on_problem = problems.append
    journal = archive.create(make_facts())
    await journal.commit()
    is_held, is_enough = Event(), Event()
    holder = Thread(target=hold, args=(path, is_held, is_enough))
    holder.start()
    is_held.wait(10)
    journal.append(user_message("hello"))
    with anyio.move_on_after(0.1) as waiting:
        await journal.commit()
    assert waiting.cancelled_caught  # the loop went on while the writer waited
    is_enough.set()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        assert (await archive.read("one")).messages == (user_message("hello"),)
    await archive.close()
    holder.join()
    assert problems == []


async def test_searches_find_synced_texts_and_no_deleted_ones(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    archive = LazyArchive(path)
    journal = archive.create(make_facts())
    journal.append(user_message("a very particular word"))
    journal.sync()
    await journal.commit()
    await archive.load()  # what is asked next is answered behind the sync
    with closing(sqlite3.connect(path)) as other:
        found = "SELECT count(*) FROM texts_words WHERE texts_words MATCH 'particular'"
        assert other.execute(found).fetchone() == (1,)
        await archive.delete("one")
        assert other.execute(found).fetchone() == (0,)
        assert other.execute("SELECT count(*) FROM texts").fetchone() == (0,)
        for table in ("sessions", "messages", "entries", "output", "leases", "prompts"):
            assert other.execute(f"SELECT count(*) FROM {table}").fetchone() == (0,)  # noqa: S608
    await archive.close()
