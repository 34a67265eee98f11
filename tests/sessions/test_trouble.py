"""What a user sees when sessions cannot be kept: a clear word, and everything else goes on."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.history import database as session_database
from tests.support.editor import json_at, make_configuration, open_editor
from tests.support.server_process import ServerProcess, command_line, start_server
from tests.support.user_texts import NO_LONGER_SAVED

SCRIPT = "prompt: *\nsay: Hello.\n"
NEWER_VERSION = 9_999


def database(home: Path) -> Path:
    """Where sessions are kept."""
    path = home / "acp" / "sessions.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def garbage(home: Path) -> None:
    """A file that is no database."""
    database(home).write_bytes(b"this was never a database " * 500)


def of_a_newer_version(home: Path) -> None:
    """A database that a later version has written."""
    with sqlite3.connect(database(home)) as connection:
        connection.execute(f"PRAGMA user_version = {NEWER_VERSION}")
        connection.execute("CREATE TABLE future (thing TEXT)")
    connection.close()


def unreadable(home: Path) -> None:
    """A folder where the file should be."""
    database(home).mkdir()


@pytest.mark.parametrize(
    ("spoil", "word"),
    [(garbage, "corrupt"), (of_a_newer_version, "newer"), (unreadable, "sessions.db")],
    ids=["garbage", "newer version", "a folder"],
)
async def test_a_problem_is_reported_and_work_continues(
    tmp_path: Path, spoil: object, word: str
) -> None:
    assert callable(spoil)
    spoil(tmp_path)
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        session = await editor.new_session(str(tmp_path))
        await editor.prompt(session, "hi")
        assert await editor.prompt(session, "hi") == {"stopReason": "end_turn"}
        output = editor.agent_text(session)
        assert output.endswith("Hello.")
        assert word in output


async def test_a_damaged_file_is_moved_aside_and_a_new_one_is_created(tmp_path: Path) -> None:
    garbage(tmp_path)
    before = database(tmp_path).read_bytes()
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        session = await editor.new_session(str(tmp_path))
        await editor.prompt(session, "hi")
        listed = json_at(
            await editor.call("session/list", {}), "result", "sessions", 0, "sessionId"
        )
        assert listed == session
    aside = [path for path in database(tmp_path).parent.iterdir() if "corrupt" in path.name]
    assert [path.read_bytes() for path in aside] == [before]


async def test_a_file_of_a_newer_version_is_left_unchanged(tmp_path: Path) -> None:
    of_a_newer_version(tmp_path)
    before = database(tmp_path).read_bytes()
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        await editor.prompt(await editor.new_session(str(tmp_path)), "hi")
        response = await editor.call("session/list", {})
        assert json_at(response, "error", "code") == -32603
    assert database(tmp_path).read_bytes() == before


async def test_a_session_that_is_opened_while_nothing_can_be_saved_says_so(tmp_path: Path) -> None:
    unreadable(tmp_path)
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        for _ in range(2):
            session = await editor.new_session(str(tmp_path))
            for _ in range(2):
                await editor.prompt(session, "hi")
            assert editor.agent_text(session).count(NO_LONGER_SAVED) == 1


async def test_all_open_sessions_say_so_when_nothing_can_be_saved_any_more(tmp_path: Path) -> None:
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        sessions = [await editor.new_session(str(tmp_path)) for _ in range(2)]
        for session in sessions:
            await editor.prompt(session, "hi")
        for path in database(tmp_path).parent.glob("sessions.db*"):
            path.unlink()
        unreadable(tmp_path)
        for session in sessions * 2:
            await editor.prompt(session, "hi")
        for session in sessions:
            assert editor.agent_text(session).count(NO_LONGER_SAVED) == 1


def stored_prompts(home: Path) -> int:
    """Return how many prompts the database has."""
    with closing(sqlite3.connect(database(home))) as connection:
        query = "SELECT count(*) FROM entries WHERE kind = 'PromptReceived'"
        return int(connection.execute(query).fetchone()[0])


def shown_text(server: ServerProcess) -> str:
    """Return all that the server has sent, as text."""
    return "\n".join(map(str, server.messages))


async def test_turns_go_on_while_another_program_locks_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_database, "LOCK_TIMEOUT_SECONDS", 0.1)
    async with open_editor(make_configuration(tmp_path, SCRIPT)) as editor:
        await editor.initialize()
        session = await editor.new_session(str(tmp_path))
        await editor.prompt(session, "hi")
        with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            for _ in range(5):
                assert await editor.prompt(session, "hi") == {"stopReason": "end_turn"}
            other.execute("ROLLBACK")
        assert editor.agent_text(session).count("Sessions cannot be saved at the moment") == 1
    assert stored_prompts(tmp_path) == 6


@pytest.mark.full
def test_a_server_goes_on_while_another_program_locks_the_database(tmp_path: Path) -> None:
    command = command_line(tmp_path, SCRIPT)
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        session = server.new_session(str(tmp_path))
        server.prompt(session, "hi")
        with closing(sqlite3.connect(database(tmp_path), isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            for _ in range(5):
                answer = server.prompt(session, "hi")
                assert json_at(answer, "result", "stopReason") == "end_turn"
            other.execute("ROLLBACK")
        assert shown_text(server).count("Sessions cannot be saved at the moment") == 1
        server.close_stdin()
        assert server.wait() == 0
    assert stored_prompts(tmp_path) == 6


def test_a_session_resumed_before_its_database_was_deleted_is_saved_again(tmp_path: Path) -> None:
    command = command_line(tmp_path, SCRIPT)
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        session = server.new_session(str(tmp_path))
        server.prompt(session, "hi")
    with start_server(tmp_path, command=command) as server:
        server.initialize()
        params: JsonValue = {"sessionId": session, "cwd": str(tmp_path), "mcpServers": []}
        assert "result" in server.call("session/load", params)
        for path in database(tmp_path).parent.glob("sessions.db*"):
            path.unlink()
        server.prompt(session, "hi")
        server.prompt(session, "hi")
        assert shown_text(server).count("was deleted or replaced while it was in use") == 1
        server.close_stdin()
        assert server.wait() == 0
    assert stored_prompts(tmp_path) == 3
