"""Whichever statement the database fails at, what the model was told is kept; it is said once."""

import sqlite3
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from sqlite3 import Connection, Cursor
from typing import cast

from acp_server.history.database import SessionDatabase
from acp_server.session.ports.archive import SessionArchive
from tests.history.samples import assistant_message, make_facts, user_message
from tests.history.test_problems import Home, SmallDisk, writer_on

WORDS = [
    user_message("first"),
    assistant_message("yes"),
    user_message("second"),
    assistant_message("indeed"),
    user_message("third"),
]


class _Statements:
    """A connection whose statements are counted before they are done."""

    def __init__(self, connection: Connection, step: Callable[[], None]) -> None:
        self._connection = connection
        self._step = step

    def execute(self, statement: str, values: object = ()) -> Cursor:
        self._step()
        return self._connection.execute(statement, cast("tuple[str, ...]", values))

    def executemany(self, statement: str, rows: Iterable[object]) -> Cursor:
        self._step()
        return self._connection.executemany(statement, cast("list[tuple[str, ...]]", rows))


class FailingDisk(SmallDisk):
    """A database of which one statement ends in an error of the disk; a commit is one too."""

    done = 0
    fails_at = 0

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Generator[Connection]:
        """Count what is written in the body, and its end."""
        with SessionDatabase.transaction(self, is_durable=is_durable) as connection:
            yield cast("Connection", _Statements(connection, self._step))
            self._step()

    def _step(self) -> None:
        self.done += 1
        if self.done == self.fails_at:
            message = "disk I/O error"
            raise sqlite3.OperationalError(message)


async def write_messages(archive: SessionArchive) -> None:
    """Have a conversation of several turns, each word of it committed."""
    journal = archive.create(make_facts())
    for number, word in enumerate(WORDS):
        if number % 2 == 0:
            journal.begin_turn()
        journal.append(word)
        await journal.commit()


async def test_any_statement_may_fail_once_without_losing_messages(
    tmp_path: Path,
) -> None:
    statements = 1
    for number in range(1, 1000):
        folder = tmp_path / str(number)
        folder.mkdir()
        home = Home(folder)
        disk = FailingDisk(home.path)
        disk.fails_at = 0 if number == 1 else number - 1
        async with home.process(writer_on(disk)) as archive:
            await write_messages(archive)
        if number == 1:
            statements = disk.done
        has_failed = 0 < disk.fails_at <= disk.done
        assert ["disk I/O error" in each for each in home.problems] == [True] * has_failed
        async with home.process() as archive:
            stored = await archive.read("one")
        assert stored.messages == tuple(WORDS), f"statement {disk.fails_at}"
        if number > statements:
            break
    assert statements > len(WORDS)
