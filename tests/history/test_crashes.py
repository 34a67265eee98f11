"""What is left after processes were killed, and while several write at once."""

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from acp_server.history.archive import LazyArchive
from acp_server.session.ports.archive import CallRecord, StoredSession
from tests.history.samples import assistant_message

REPOSITORY = Path(__file__).parents[2]
FEW_PROCESSES, MANY_PROCESSES = 2, 4


def start(path: Path, session_id: str, *rounds: str) -> subprocess.Popen[str]:
    """Start a process that records."""
    command = [sys.executable, "-m", "tests.history.recorder", str(path), session_id, *rounds]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)


def integrity(path: Path) -> list[tuple[str]]:
    """Return what SQLite says of the file."""
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchall()


async def resumed(path: Path, session_id: str) -> StoredSession:
    """Return a session as another process takes it."""
    archive = LazyArchive(path)
    await archive.resume(session_id)
    found = await archive.read(session_id)
    await archive.close()
    return found


def kill_after_a_while(path: Path, session_id: str, chance: random.Random) -> int:
    """Kill a process that records; return how many messages it knew to be committed."""
    process = start(path, session_id)
    assert process.stdout is not None
    assert process.stdout.readline() == "0\n"
    time.sleep(chance.uniform(0.0, 0.15))  # not to synchronise: the moment is to be any
    process.kill()
    lines = process.stdout.read().split("\n")
    process.stdout.close()
    process.wait()
    return 1 + sum(line.isdigit() for line in lines[:-1])


async def check_after_kills(path: Path, kills: int) -> None:
    """Kill processes at any moment; nothing that was committed may be gone."""
    chance = random.Random(20_260_301)  # noqa: S311 - no secret
    for number in range(kills):
        committed = kill_after_a_while(path, f"s{number}", chance)
        assert integrity(path) == [("ok",)]
        found = await resumed(path, f"s{number}")
        count = len(found.messages)
        assert count >= committed
        assert found.messages == tuple(assistant_message(str(each)) for each in range(count))
        states = [entry.state.status for entry in found.entries if isinstance(entry, CallRecord)]
        assert set(states) <= {"completed", "failed"}


async def test_committed_data_survives_a_kill(tmp_path: Path) -> None:
    await check_after_kills(tmp_path / "sessions.db", 2)


@pytest.mark.full
async def test_committed_data_survives_a_hundred_kills(tmp_path: Path) -> None:
    await check_after_kills(tmp_path / "sessions.db", 100)


async def check_together(path: Path, processes: int, rounds: int) -> None:
    """Have several processes record at once; each must find all of its own."""
    running = [start(path, f"s{number}", str(rounds)) for number in range(processes)]
    outputs = [process.communicate(timeout=120)[0].split() for process in running]
    assert [process.returncode for process in running] == [0] * processes
    assert outputs == [[str(each) for each in range(rounds)]] * processes
    assert integrity(path) == [("ok",)]
    archive = LazyArchive(path)
    for number in range(processes):
        found = await archive.read(f"s{number}")
        assert found.messages == tuple(assistant_message(str(each)) for each in range(rounds))
        assert len(found.entries) == 2 * rounds
        assert not found.is_turn_open
    await archive.close()


async def test_processes_recording_concurrently_lose_nothing(tmp_path: Path) -> None:
    await check_together(tmp_path / "sessions.db", FEW_PROCESSES, 60)


@pytest.mark.full
async def test_processes_recording_concurrently_for_long_lose_nothing(tmp_path: Path) -> None:
    await check_together(tmp_path / "sessions.db", MANY_PROCESSES, 7000)
