"""The writer gives memory back once the records of a long turn are written."""

import _sqlite3
import ctypes
import sys
from pathlib import Path

import pytest

from acp_server.history import writer
from acp_server.history.archive import LazyArchive
from acp_server.history.database import SessionDatabase
from acp_server.turn.events import MessageChunk
from tests.history.samples import make_facts


@pytest.mark.parametrize(("chunks", "times"), [(writer.LONG_TURN_RECORDS + 1, 1), (100, 0)])
async def test_memory_is_given_back_once_after_a_long_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunks: int, times: int
) -> None:
    returned: list[str] = []

    def free_memory(_: SessionDatabase) -> None:
        returned.append("pages")

    monkeypatch.setattr(SessionDatabase, "free_memory", free_memory)
    monkeypatch.setattr(writer, "return_free_memory", lambda: returned.append("heap"))
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    journal.begin_turn()
    for number in range(chunks):
        journal.show(MessageChunk("m", f"{number}"))
    await journal.commit()
    assert returned == []
    journal.end_turn()
    await journal.commit()
    journal.begin_turn()
    journal.end_turn()
    await archive.close()
    assert returned == ["pages", "heap"] * times


@pytest.mark.skipif(sys.platform == "win32", reason="finds the library by the module's symbols")
def test_freed_pages_of_the_database_are_read_again(tmp_path: Path) -> None:
    library = ctypes.CDLL(_sqlite3.__file__)
    library.sqlite3_memory_used.restype = ctypes.c_int64
    database = SessionDatabase(tmp_path / "sessions.db")
    database.free_memory()  # closed: there is nothing to free
    database.open()
    with database.transaction() as connection:
        connection.execute("CREATE TABLE samples (text TEXT)")
        connection.executemany("INSERT INTO samples VALUES (?)", [("a" * 1_000,)] * 1_000)
    used: int = library.sqlite3_memory_used()

    database.free_memory()

    freed: int = used - library.sqlite3_memory_used()
    assert freed > 500_000
    with database.read_transaction() as connection:
        assert connection.execute("SELECT count(*), max(text) FROM samples").fetchone() == (
            1_000,
            "a" * 1_000,
        )
    database.close()
