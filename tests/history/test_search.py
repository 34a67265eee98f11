"""What a search shows of what it finds, in which order, and what it leaves out."""

import sqlite3
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from acp_server.history import search_database, search_databases
from acp_server.history.discovery import CUT_SHORT_NOTE
from acp_server.session.errors import ArchiveError, UnknownSessionError
from acp_server.session.ports.session_search import (
    PastSession,
    PastText,
    SessionSearchResults,
    Sort,
)
from tests.history.past_sessions import (
    FIRST_DAY,
    SessionHome,
    assistant,
    open_database,
    results,
    user,
)


def past_text(number: int, text: str, day: int = 0, minute: int = 0) -> PastText:
    at = FIRST_DAY + timedelta(days=day, minutes=minute)
    return PastText(number, "user" if minute % 2 == 0 else "assistant", at, text)


async def test_a_hit_contains_its_session_and_the_surrounding_messages(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.save_session(
        "s", user("one"), assistant("two"), user("three kumquats"), assistant("four"), user("five")
    )
    (hit,) = (await home.find("kumquats")).hits
    assert hit.session == PastSession(
        "s", "acp-server", "title of s", "/code", FIRST_DAY, FIRST_DAY + timedelta(minutes=5)
    )
    texts = ["one", "two", "three kumquats", "four", "five"]
    assert hit.around == tuple(past_text(n + 1, text, minute=n) for n, text in enumerate(texts))
    assert (hit.text, hit.matches) == (hit.around[2], 1)
    assert hit.snippet == "three >>>kumquats<<<"


async def test_hits_are_grouped_by_session(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.save_session("a", user("kumquat"), assistant("kumquat"), user("kumquat, kumquat"))
    home.save_session("b", user("kumquat"))
    assert [(h.session.id, h.matches) for h in (await home.find("kumquat")).hits] == [
        ("a", 3),
        ("b", 1),
    ]


async def test_the_searching_session_is_excluded(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    for session_id in ("a", "b"):
        home.save_session(session_id, user("kumquat"))
    assert await home.find_ids("kumquat", excluded_id="a") == ["b"]
    assert await home.find_ids("umqua", excluded_id="a") == ["b"]
    assert await home.find_ids("um", excluded_id="a") == ["b"]


@pytest.mark.parametrize(
    ("sort", "ids"),
    [
        ("relevance", ["rich", "new", "old"]),
        ("newest", ["new", "rich", "old"]),
        ("oldest", ["old", "rich", "new"]),
    ],
)
async def test_hits_are_sorted(tmp_path: Path, sort: Sort, ids: list[str]) -> None:
    home = SessionHome(tmp_path)
    home.save_session("old", user("one kumquat among " + "other words " * 90), day=0)
    home.save_session("rich", user("kumquat, kumquat and kumquat"), day=5)
    home.save_session("new", user("one kumquat among " + "other words " * 60), day=9)
    assert await home.find_ids("kumquat", sort=sort) == ids
    assert await home.find_ids("kumquat", sort=sort, limit=1) == ids[:1]


async def test_only_the_newest_matches_of_a_common_word_are_ranked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_database, "MAX_CANDIDATES", 2)
    monkeypatch.setattr(search_database, "FIRST_RANGE_TEXTS", 1)
    home = SessionHome(tmp_path)
    for number in range(5):
        home.save_session(f"s{number}", user("kumquat"), day=number)
    assert sorted(await home.find_ids("kumquat")) == ["s3", "s4"]
    assert await home.find_ids("kumquat", sort="oldest") == ["s0", "s1"]


async def test_excluded_hits_do_not_crowd_out_older_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_database, "MAX_CANDIDATES", 2)
    home = SessionHome(tmp_path)
    home.save_session("old", user("kumquat"))
    for number in range(5):
        home.save_session(f"s{number}", user("kumquat and pear"), day=number)
    assert await home.find_ids("kumquat -pear") == ["old"]


async def test_a_directory_with_any_name_works(tmp_path: Path) -> None:
    folder = tmp_path / "a?mode=rw#b%20 数"
    folder.mkdir()
    home = SessionHome(folder)
    home.save_session("s", user("kumquat"))
    assert await home.find_ids("kumquat") == ["s"]


async def test_a_timed_out_search_returns_partial_results_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_database, "SEARCH_TIMEOUT_SECONDS", -1.0)
    home = SessionHome(tmp_path)
    home.save_session("s", user("kumquat"))
    assert await home.find("kumquat") == SessionSearchResults((), (CUT_SHORT_NOTE,))


async def test_a_text_is_found_once_it_is_indexed_and_never_twice(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.save_session("a", user("kumquat"), is_indexed=False)
    assert await home.find_ids("kumquat") == []
    home.save_session("b", user("kumquat"))
    assert [
        (h.session.id, h.matches) for h in (await home.find("kumquat", sort="oldest")).hits
    ] == [
        ("a", 1),
        ("b", 1),
    ]


async def test_a_deleted_session_is_no_longer_found_and_its_ids_are_not_reused(
    tmp_path: Path,
) -> None:
    home = SessionHome(tmp_path)
    home.save_session("a", user("kumquat 数据"), assistant("pear"))
    home.save_session("b", user("kumquat"))
    home.delete_session("b")
    home.save_session("c", user("kumquat"), is_indexed=False)
    home.delete_session("c")
    home.save_session("d", user("melon kumquat"))
    assert sorted(await home.find_ids("kumquat")) == ["a", "d"]
    home.delete_session("a")
    assert await home.find_ids("数据 OR pear OR umqua") == ["d"]
    (hit,) = (await home.find("melon")).hits
    assert hit.text.id == 5
    with closing(open_database(home.database_paths.own)) as connection:
        for index in ("texts_words", "texts_threes"):
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")  # noqa: S608


async def test_scrolling_shows_a_window_and_the_counts_outside_it(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.save_session("other", user("x"))
    home.save_session("s", *(user(f"m{n}") for n in range(4)), results("r"), assistant("end"))
    page = await home.past_sessions.scroll("s", 4, 1)
    assert [each.text for each in page.texts] == ["m1", "m2", "m3"]
    assert (page.before, page.after, page.session.id) == (1, 2, "s")
    last = await home.past_sessions.scroll("s", 7, 3)
    assert [each.text for each in last.texts] == ["m2", "m3", "r", "end"]
    assert (await home.past_sessions.scroll("s", 1, 3)).texts == ()


async def test_reading_shows_the_beginning_and_end_of_a_long_session(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.save_session("s", *(user(f"m{n}") for n in range(9)))
    page = await home.past_sessions.read("s", 6)
    assert [each.text for each in page.texts] == ["m0", "m1", "m2", "m3", "m7", "m8"]
    assert page.omitted == 3
    complete = await home.past_sessions.read("s", 9)
    assert (len(complete.texts), complete.omitted) == (9, 0)


async def test_recent_sessions_come_newest_first(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    for number in range(4):
        home.save_session(f"s{number}", user("x"), day=number)
    home.save_session("silent", day=9)
    recent = await home.past_sessions.browse(2, excluded_id="s3")
    assert [each.id for each in recent] == ["s2", "s1"]


async def test_a_session_is_identified_by_id_prefix(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    for session_id in ("ab", "abc", "b%"):
        home.save_session(session_id, user("x"))
    assert [each.id for each in await home.past_sessions.find_by_id_prefix("ab", 5)] == ["ab"]
    assert [each.id for each in await home.past_sessions.find_by_id_prefix("a", 5)] == ["ab", "abc"]
    assert [each.id for each in await home.past_sessions.find_by_id_prefix("%", 5)] == []


async def test_without_a_database_there_are_no_results(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    assert await home.find("x") == SessionSearchResults(())
    assert await home.past_sessions.browse(3) == []
    with pytest.raises(UnknownSessionError):
        await home.past_sessions.read("s", 3)
    assert not home.has_files


async def test_a_database_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    with closing(sqlite3.connect(home.database_paths.own)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(ArchiveError, match="newer version"):
        await home.find("x")


async def test_a_database_locked_by_another_program_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_databases, "BUSY_SECONDS", 0.01)
    home = SessionHome(tmp_path)
    home.save_session("s", user("kumquat"))
    with closing(sqlite3.connect(home.database_paths.own, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        with pytest.raises(ArchiveError, match=r"another program keeps .* to itself"):
            await home.find("kumquat")
        connection.execute("ROLLBACK")
    assert await home.find_ids("kumquat") == ["s"]


async def test_an_invalid_database_file_is_reported(tmp_path: Path) -> None:
    home = SessionHome(tmp_path)
    home.database_paths.own.write_bytes(b"no database at all" * 100)
    with pytest.raises(ArchiveError, match=r"sessions\.db cannot be read"):
        await home.find("x")
