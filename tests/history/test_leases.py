"""Who has a session, when that is over, and what becomes of a process that lost it."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
import psutil
import pytest

from acp_server.history import leases, process_start_psutil
from acp_server.history.archive import LazyArchive
from acp_server.history.database import SessionDatabase
from acp_server.history.leases import Lease, LeaseHolder
from acp_server.history.writer import ArchiveWriter
from acp_server.history.writer_queue import WriterQueue
from acp_server.session.errors import SessionInUseError
from tests.history.samples import assistant_message, make_facts, user_message
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

SECOND = 1_000_000
NOW = 1_000 * SECOND
HERE = LeaseHolder("here", "laptop/1")
ALIVE = LeaseHolder("other", "laptop/1")
SUCCESSOR = replace(ALIVE, start_token="0")  # noqa: S106  not a secret
"""A process that began at another moment than the one which now has its number."""


def dead_holder() -> LeaseHolder:
    """Return a holder that has ended."""
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    process.wait()
    return replace(ALIVE, pid=process.pid)


AGES = [("now", 0), ("long ago", -3600), ("in the future", 3600)]


@pytest.mark.parametrize("age_seconds", [age[1] for age in AGES], ids=[age[0] for age in AGES])
def test_a_lease_of_this_machine_expires_when_its_process_is_dead(age_seconds: int) -> None:
    heartbeat = NOW + age_seconds * SECOND
    assert not Lease(ALIVE, heartbeat).has_expired(HERE, NOW)
    assert Lease(dead_holder(), heartbeat).has_expired(HERE, NOW)


@pytest.mark.parametrize(
    ("age_seconds", "is_over"),
    [(0, False), (-29, False), (-31, True), (29, False), (31, True), (-(10**6), True)],
)
@pytest.mark.parametrize(
    "holder",
    [
        pytest.param(replace(ALIVE, machine="desk/1"), id="on another machine"),
        pytest.param(replace(ALIVE, machine="laptop/2"), id="in a container of the same name"),
        pytest.param(SUCCESSOR, id="a process that has the number of a former one"),
    ],
)
def test_a_lease_of_another_machine_expires_without_heartbeats(
    holder: LeaseHolder, age_seconds: int, *, is_over: bool
) -> None:
    assert Lease(holder, NOW + age_seconds * SECOND).has_expired(HERE, NOW) is is_over


def test_a_zombie_process_holds_no_lease() -> None:
    process = subprocess.Popen([sys.executable, "-c", "pass"])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(process.pid).status() == psutil.STATUS_ZOMBIE
    assert leases.process_start_token(process.pid) is None
    assert process_start_psutil.process_start_token(process.pid) is None
    process.wait()


@pytest.mark.parametrize(
    "started", [leases.process_start_token, process_start_psutil.process_start_token]
)
def test_a_process_has_one_stable_start_time(started: Callable[[int], str | None]) -> None:
    assert started(os.getpid()) == started(os.getpid())
    assert started(os.getpid()) is not None


def set_beat(path: Path, machine: str, age_seconds: float) -> None:
    """Have all leases be of a machine that was last heard of so long ago."""
    database = SessionDatabase(path)
    database.open()
    with database.transaction() as connection:
        beat_us = leases.now_us() - int(age_seconds * SECOND)
        connection.execute("UPDATE leases SET machine = ?, beat_us = ?", (machine, beat_us))
    database.close()


async def test_a_process_that_lost_its_lease_writes_nothing_more(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    problems: list[str] = []
    first, second = LazyArchive(path), LazyArchive(path)
    first.on_problem = problems.append
    journal = first.create(make_facts())
    journal.append(user_message("hello"))
    await journal.commit()
    set_beat(path, "desk/1", 20)
    with pytest.raises(SessionInUseError, match="on desk"):
        await second.resume("one")
    set_beat(path, "desk/1", 40)
    taken = await second.resume("one")
    taken.append(assistant_message("mine"))
    await taken.commit()
    journal.append(user_message("too late"))
    await journal.commit()
    assert (await second.read("one")).messages == (user_message("hello"), assistant_message("mine"))
    assert ["elsewhere" in problem for problem in problems] == [True]
    await first.close()
    await second.close()


async def test_abandoned_empty_sessions_are_removed_at_the_next_start(
    tmp_path: Path,
) -> None:
    path = tmp_path / "sessions.db"
    first = LazyArchive(path)
    first.create(make_facts("empty"))
    first.create(replace(make_facts("new"), created_at=datetime.now(UTC)))
    first.create(make_facts("said")).append(user_message("x"))
    await first.load()
    set_beat(path, "desk/1", 40)
    second = LazyArchive(path)
    assert [each.id for each in (await second.page(None, None)).sessions] == ["said"]
    with closing(sqlite3.connect(path)) as connection:
        kept = connection.execute("SELECT id FROM sessions ORDER BY id").fetchall()
    assert kept == [("new",), ("said",)]
    await second.close()
    await first.close()


async def test_a_process_sends_no_heartbeat_before_it_is_due(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"

    def write(path: Path, inbox: WriterQueue, on_problem: Callable[[str], None]) -> None:
        ArchiveWriter(SessionDatabase(path), inbox, on_problem, heartbeat_seconds=3600).run()

    archive = LazyArchive(path, write)
    journal = archive.create(make_facts())
    journal.sync()  # sends a heartbeat with it
    await journal.commit()
    await archive.load()
    set_beat(path, "desk/1", 3600)
    for _ in range(3):
        journal.append(user_message("hello"))
        await journal.commit()
    with closing(sqlite3.connect(path)) as connection:
        ((machine,),) = connection.execute("SELECT machine FROM leases").fetchall()
        ((beat_us,),) = connection.execute("SELECT beat_us FROM leases").fetchall()
    assert machine == "desk/1"
    assert leases.now_us() - beat_us >= 3600 * SECOND
    await archive.close()


async def test_an_idle_process_still_sends_heartbeats(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"

    def write(path: Path, inbox: WriterQueue, on_problem: Callable[[str], None]) -> None:
        ArchiveWriter(SessionDatabase(path), inbox, on_problem, heartbeat_seconds=0.01).run()

    archive = LazyArchive(path, write)
    archive.create(make_facts())
    await archive.load()
    set_beat(path, "desk/1", 3600)
    looking = SessionDatabase(path)
    looking.open()
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        while True:
            with looking.read_transaction() as connection:
                lease = leases.find(connection, "one")
            if lease is not None and leases.now_us() - lease.heartbeat_us < 10 * SECOND:
                break
            await anyio.sleep(0.01)
    looking.close()
    await archive.close()
