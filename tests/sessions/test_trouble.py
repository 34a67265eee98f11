"""What a user sees when sessions cannot be kept: a clear word, and everything else goes on."""

import sqlite3
from pathlib import Path

import pytest

from tests.support.editor import json_at, make_configuration, open_editor

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
