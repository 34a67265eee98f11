"""The database of Hermes is searched too, whatever its version, and never written to."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from acp_server.history.discovery import SCANNED_NOTE
from tests.history.past_sessions import (
    HERMES_NEW_SCHEMA,
    HERMES_OLD_SCHEMA,
    SessionHome,
    encode_parts,
    user,
    write_hermes_database,
)

MESSAGES = (
    ("user", "where is the kumquat"),
    ("assistant", "数据库 in the fridge"),
    ("tool", "tool says fridge"),
    ("user", encode_parts("a picture", "of a melon")),
)


@pytest.mark.parametrize("schema", [HERMES_OLD_SCHEMA, HERMES_NEW_SCHEMA], ids=["first", "later"])
@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("kumquat", "where is the kumquat"),
        ("umqua", "where is the kumquat"),
        ("数据库", "数据库 in the fridge"),
        ("数据", "数据库 in the fridge"),
        ("fridge -where", "数据库 in the fridge"),
        ("melon", "a picture\nof a melon"),
        ("says", "tool says fridge"),
    ],
)
async def test_the_hermes_database_is_searched(
    tmp_path: Path, schema: str, query: str, text: str
) -> None:
    home = SessionHome(tmp_path)
    write_hermes_database(tmp_path / "state.db", MESSAGES, schema)
    (hit,) = (await home.find(query)).hits
    assert (hit.session.id, hit.session.source, hit.text.text) == ("hermes-1", "hermes", text)


async def test_hits_of_both_databases_are_found_and_labelled(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.save_session("ours", user("a kumquat"), day=1)
    write_hermes_database(tmp_path / "state.db", MESSAGES)
    found = await home.find("kumquat", sort="newest")
    assert [(h.session.id, h.session.source) for h in found.hits] == [
        ("ours", "acp-server"),
        ("hermes-1", "hermes"),
    ]
    assert [each.id for each in await home.past_sessions.browse(5)] == ["ours", "hermes-1"]
    page = await home.past_sessions.scroll("hermes-1", 2, 1)
    assert [each.id for each in page.texts] == [1, 2, 3]
    assert (await home.past_sessions.read("hermes-1", 10)).texts[3].text == "a picture\nof a melon"


async def test_inactive_messages_and_sub_agent_sessions_are_excluded(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    write_hermes_database(
        tmp_path / "state.db", [("user", "kumquat"), ("user", "summed up kumquat")]
    )
    write_hermes_database(
        tmp_path / "state.db", [("user", "kumquat")], session_id="h2", source="subagent"
    )
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection, connection:
        connection.execute("UPDATE messages SET active = 0")
        connection.execute("UPDATE messages SET compacted = 1 WHERE id = 2")
    (hit,) = (await home.find("kumquat")).hits
    assert (hit.text.text, hit.matches) == ("summed up kumquat", 1)
    assert [each.id for each in await home.past_sessions.browse(5)] == ["hermes-1"]


async def test_without_an_index_the_newest_messages_are_scanned_with_a_note(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    write_hermes_database(tmp_path / "state.db", MESSAGES, HERMES_OLD_SCHEMA)
    with closing(sqlite3.connect(tmp_path / "state.db")) as connection, connection:
        connection.execute("DROP TABLE messages_fts")
    findings = await home.find("kumquat")
    assert ([h.session.id for h in findings.hits], findings.notes) == (
        ["hermes-1"],
        (SCANNED_NOTE,),
    )


@pytest.mark.parametrize(
    "content", [b"no database" * 500, b"", None], ids=["garbage", "empty", "other tables"]
)
async def test_an_invalid_hermes_database_does_not_break_the_search(
    tmp_path: Path, content: bytes | None
) -> None:
    home = SessionHome(tmp_path)
    home.save_session("ours", user("a kumquat"))
    if content is None:
        with closing(sqlite3.connect(tmp_path / "state.db")) as connection, connection:
            connection.execute("CREATE TABLE messages (id INTEGER)")
    else:
        (tmp_path / "state.db").write_bytes(content)
    assert await home.find_ids("kumquat") == ["ours"]


async def test_the_hermes_database_is_not_modified(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    write_hermes_database(tmp_path / "state.db", MESSAGES)
    before = (tmp_path / "state.db").read_bytes()
    await home.find("kumquat")
    assert (tmp_path / "state.db").read_bytes() == before
