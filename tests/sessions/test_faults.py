"""A disk that fails under a real server: a clear word to the user, and the work goes on.

What can be kept is kept, a damaged file is put aside whole, and nothing is overwritten.
"""

import os
import sqlite3
import sys
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from pydantic import JsonValue

from acp_server.history import database as session_database
from tests.sessions.test_kept import load_session, sessions_of_page
from tests.support.editor import Object, json_at, make_configuration, open_editor
from tests.support.server_process import ServerProcess, start_server
from tests.support.user_texts import COULD_NOT_BE_SAVED, MORE_THAN_A_DAY_OLD, NO_LONGER_SAVED

SCRIPT = "prompt: *\nsay: Hello.\n"
TRIES = 20
SOME_DAYS_US = 3 * 86_400 * 1_000_000


def database(home: Path) -> Path:
    """Where sessions are kept."""
    return home / "acp" / "sessions.db"


def agent_text(server: ServerProcess) -> str:
    """All that the agent has said so far."""
    updates = [json_at(m, "params", "update") for m in server.messages if "params" in m]
    chunks = [u for u in updates if json_at(u, "sessionUpdate") == "agent_message_chunk"]
    return "".join(str(json_at(each, "content", "text")) for each in chunks)


def assert_prompt_ends(server: ServerProcess, session: str, text: str = "hi") -> None:
    """Have a prompt answered."""
    response = server.prompt(session, text)
    assert json_at(response, "result", "stopReason") == "end_turn", response


def wait_for_text(server: ServerProcess, session: str, word: str) -> str:
    """Prompt until the user is told of it; all prompts are answered."""
    for _ in range(TRIES):
        assert_prompt_ends(server, session)
        if word in agent_text(server):
            return agent_text(server)
    raise AssertionError(f"{word!r} was not told: {agent_text(server)}")


def load(server: ServerProcess, session: str, home: Path) -> Object:
    """Take a session up again."""
    params: JsonValue = {"sessionId": session, "cwd": str(home), "mcpServers": []}
    return server.call("session/load", params)


def ids(server: ServerProcess) -> list[JsonValue]:
    """The ids of the sessions that are listed."""
    page = server.call("session/list", {})["result"]
    return [json_at(each, "sessionId") for each in sessions_of_page(page)]


@pytest.fixture
def server(tmp_path: Path) -> Generator[ServerProcess]:
    """A server that has kept a session's first words."""
    with start_server(tmp_path, SCRIPT) as running:
        running.initialize()
        yield running


def a_file(home: Path) -> None:
    """A file where the folder should be."""
    (home / "acp").write_text("mine")


def a_full_disk(home: Path) -> None:
    """A device that takes nothing in the place of the file."""
    database(home).parent.mkdir()
    database(home).symlink_to("/dev/full")


def without_rights(home: Path) -> None:
    """A folder that may not be written."""
    database(home).parent.mkdir(mode=0o500)


@pytest.mark.parametrize(
    "spoil",
    [
        a_file,
        pytest.param(
            a_full_disk,
            marks=pytest.mark.skipif(sys.platform != "linux", reason="there is no /dev/full"),
        ),
        pytest.param(
            without_rights,
            marks=pytest.mark.skipif(os.getuid() == 0, reason="nothing is denied to root"),
        ),
    ],
    ids=["a file in the way", "a device", "no rights"],
)
def test_an_unwritable_home_is_reported_and_sessions_still_work(
    tmp_path: Path, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path)
    with start_server(tmp_path, SCRIPT) as server:
        server.initialize()
        session = server.new_session(str(tmp_path))
        output = wait_for_text(server, session, "Sessions are no longer saved")
        assert str(tmp_path / "acp") in output
        assert output.count(NO_LONGER_SAVED) == 1
        assert json_at(server.call("session/list", {}), "error", "code") == -32603
        assert json_at(load(server, session, tmp_path), "error", "code") == -32603
        assert_prompt_ends(server, session)  # a load that failed has taken nothing away


def test_a_problem_found_before_any_session_is_reported_in_the_first_one(
    tmp_path: Path, server: ServerProcess
) -> None:
    database(tmp_path).parent.mkdir(exist_ok=True)
    database(tmp_path).write_bytes(b"this was never a database " * 500)
    assert ids(server) == []
    session = server.new_session(str(tmp_path))
    assert "was damaged" in wait_for_text(server, session, "was damaged")


@pytest.mark.skipif(sys.platform != "linux", reason="limits of others can be set on Linux only")
def test_a_temporarily_full_disk_loses_nothing_sent_to_the_model(
    tmp_path: Path, server: ServerProcess
) -> None:
    session = server.new_session(str(tmp_path))
    assert_prompt_ends(server, session, "before")
    assert ids(server) == [session]
    process = psutil.Process(server.process.pid)
    limits = process.rlimit(psutil.RLIMIT_FSIZE)
    process.rlimit(psutil.RLIMIT_FSIZE, (4096, limits[1]))
    wait_for_text(server, session, "no longer saved: ")
    assert_prompt_ends(server, session, "meanwhile")
    process.rlimit(psutil.RLIMIT_FSIZE, limits)
    assert_prompt_ends(server, session, "afterwards")
    assert ids(server) == [session]
    seen_count = len(server.messages)
    assert "result" in load(server, session, tmp_path)
    again = str(server.messages[seen_count:])
    assert all(text in again for text in ("before", COULD_NOT_BE_SAVED, "afterwards"))
    with closing(sqlite3.connect(database(tmp_path))) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        bodies = str(connection.execute("SELECT body FROM messages ORDER BY seq").fetchall())
    assert all(text in bodies for text in ("before", "meanwhile", "afterwards"))


def spoil_in_use(home: Path, contents: bytes) -> None:
    """Replace the bytes of a database that a server has open."""
    with closing(sqlite3.connect(database(home))) as connection:
        connection.execute("UPDATE origin SET key = key")  # what the server has read is stale
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with database(home).open("r+b") as file:
        file.truncate(0)
        file.write(contents)  # in one piece: the server may look at any time


def moved_aside(home: Path) -> list[bytes]:
    """Return the bytes of the databases that were put aside."""
    aside = [path for path in (home / "acp").iterdir() if ".corrupt-" in path.name]
    return [path.read_bytes() for path in aside if not path.name.endswith(("-wal", "-shm"))]


@pytest.mark.parametrize(
    "is_empty",
    [
        pytest.param(False, id="garbage"),
        # an empty file counts as locked until the time-out: see below for a short one
        pytest.param(True, id="empty", marks=pytest.mark.full),
    ],
)
def test_a_database_corrupted_in_use_is_moved_aside_and_the_session_is_kept(
    tmp_path: Path, server: ServerProcess, *, is_empty: bool
) -> None:
    session = server.new_session(str(tmp_path))
    assert_prompt_ends(server, session, "before")
    assert ids(server) == [session]
    before = b"" if is_empty else b"no page at all " * 3000
    spoil_in_use(tmp_path, before)
    wait_for_text(server, session, "was damaged")
    assert ids(server) == [session]
    seen_count = len(server.messages)
    assert "result" in load(server, session, tmp_path)
    assert "Hello." in str(server.messages[seen_count:])
    assert moved_aside(tmp_path) == [before]


async def test_a_database_emptied_in_use_is_moved_aside_and_the_session_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_database, "LOCK_TIMEOUT_SECONDS", 0.1)
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        session = await editor.new_session(str(tmp_path))
        await editor.prompt(session, "before")
        await editor.call("session/list", {})  # what was recorded before is written
        spoil_in_use(tmp_path, b"")
        for _ in range(TRIES):
            assert await editor.prompt(session, "hi") == {"stopReason": "end_turn"}
            if "was damaged" in editor.agent_text(session):
                break
        assert "was damaged" in editor.agent_text(session)
        page = await editor.call("session/list", {})
        listed = [json_at(each, "sessionId") for each in sessions_of_page(page["result"])]
        assert listed == [session]
        seen_count = len(editor.messages)
        assert "result" in await load_session(editor, session, str(tmp_path))
        assert "Hello." in str(editor.messages[seen_count:])
    assert moved_aside(tmp_path) == [b""]


def test_an_empty_file_is_an_empty_database(tmp_path: Path) -> None:
    database(tmp_path).parent.mkdir()
    database(tmp_path).touch()
    with start_server(tmp_path, SCRIPT) as server:
        server.initialize()
        session = server.new_session(str(tmp_path))
        assert_prompt_ends(server, session)
        assert ids(server) == [session]
        assert agent_text(server) == "Hello."


def test_a_clock_set_back_hides_and_loses_no_session(tmp_path: Path) -> None:
    with start_server(tmp_path, SCRIPT) as server:
        server.initialize()
        old, new = (server.new_session(str(tmp_path)) for _ in range(2))
        for session in (old, new):
            assert_prompt_ends(server, session, f"first in {session}")
        assert ids(server) == [new, old]
        server.process.kill()
        server.process.wait()
    with closing(sqlite3.connect(database(tmp_path))) as connection, connection:
        for table, column in (
            ("sessions", "created_us"),
            ("sessions", "updated_us"),
            ("leases", "beat_us"),
            ("prompts", "written_us"),
        ):
            connection.execute(f"UPDATE {table} SET {column} = {column} + {SOME_DAYS_US}")  # noqa: S608
    with start_server(tmp_path, SCRIPT) as server:
        server.initialize()
        for session in (new, old):
            assert "result" in load(server, session, tmp_path)
            assert_prompt_ends(server, session, "then")
        later = server.new_session(str(tmp_path))
        assert_prompt_ends(server, later)
        assert set(ids(server)) == {old, new, later}
        assert ids(server)[-1] == later
        assert MORE_THAN_A_DAY_OLD in agent_text(server)
