"""Who may have a session, which are listed, which are gone: for every archive."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from acp_server.session.errors import (
    InvalidCursorError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.session.ports.archive import (
    CallRecord,
)
from acp_server.turn.conversation import Text
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    MessageChunk,
    NoticeRaised,
)
from tests.history.archive_processes import OpenArchive, read_in_new_process, show_events
from tests.history.samples import make_facts, user_message


async def test_resuming_marks_open_tool_calls_as_failed(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("go"))
        show_events(journal, CallAppeared("a", "t"), CallAppeared("b", "t"), CallAppeared("c", "t"))
        show_events(journal, CallChanged("b", "in_progress", content=(Text("so far"),)))
        show_events(journal, CallChanged("c", "completed"))
    async with process() as archive:
        await archive.resume("one")
    why = Text("The server ended before this call had finished.")
    assert (await read_in_new_process(process)).entries == (
        CallRecord(CallAppeared("a", "t"), CallChanged("a", "failed", content=(why,))),
        CallRecord(
            CallAppeared("b", "t"), CallChanged("b", "failed", content=(Text("so far"), why))
        ),
        CallRecord(CallAppeared("c", "t"), CallChanged("c", "completed")),
    )


async def test_a_resumed_session_continues_after_the_stored_events(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("one"))
        journal.show(MessageChunk("a", "x"))
    async with process() as archive:
        journal = await archive.resume("one")
        journal.show(MessageChunk("b", "y"))
        journal.append(user_message("two"))
        journal.update(make_facts(minute=1))
    found = await read_in_new_process(process)
    assert found.messages == (user_message("one"), user_message("two"))
    assert found.entries == (MessageChunk("a", "x"), MessageChunk("b", "y"))
    assert found.facts == make_facts(minute=1)


async def test_a_session_belongs_to_one_process_until_it_is_closed(process: OpenArchive) -> None:
    async with process() as first, process() as second:
        journal = first.create(make_facts())
        journal.append(user_message("hello"))
        await journal.commit()
        with pytest.raises(SessionInUseError):
            await second.resume("one")
        await journal.close()
        (await second.resume("one")).append(user_message("mine now"))
        assert (await second.read("one")).messages == (
            user_message("hello"),
            user_message("mine now"),
        )


async def test_events_recorded_after_a_journal_is_closed_are_dropped(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        await journal.close()
        assert await archive.page(None, None) == await archive.page(Path("/nowhere"), None)


async def test_a_session_without_a_prompt_is_not_listed(process: OpenArchive) -> None:
    async with process() as first, process() as second:
        journal = first.create(make_facts())
        journal.show(NoticeRaised("warning", "shown before any prompt", "m"))
        await journal.commit()
        assert (await second.page(None, None)).sessions == ()


async def test_an_empty_session_can_be_opened_by_another_process(process: OpenArchive) -> None:
    facts = replace(make_facts(), created_at=datetime.now(UTC))
    async with process() as first:
        await first.create(facts).commit()
    async with process() as second:
        (await second.resume("one")).append(user_message("hello"))
        assert (await second.read("one")).messages == (user_message("hello"),)


@pytest.mark.parametrize("session_id", ["other", "", "a'b\0", "\ud800"])
async def test_an_unknown_session_is_reported_as_unknown(
    process: OpenArchive, session_id: str
) -> None:
    async with process() as archive:
        with pytest.raises(UnknownSessionError):
            await archive.read(session_id)
        with pytest.raises(UnknownSessionError):
            await archive.resume(session_id)
        await archive.delete(session_id)


async def test_a_deleted_session_is_gone_even_while_it_is_open(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("secret"))
        await archive.delete("one")
        journal.append(user_message("more"))
        await journal.commit()
        with pytest.raises(UnknownSessionError):
            await archive.read("one")


async def test_pages_run_from_the_newest_to_the_oldest_session(process: OpenArchive) -> None:
    async with process() as archive:
        for number in range(120):
            archive.create(make_facts(f"s{number:03}", number // 2)).append(user_message("x"))
        ids: list[str] = []
        sizes: list[int] = []
        cursor = None
        while True:
            page = await archive.page(None, cursor)
            sizes.append(len(page.sessions))
            ids += [each.id for each in page.sessions]
            if page.cursor is None:
                break
            cursor = page.cursor
    assert ids == [f"s{number:03}" for number in reversed(range(120))]
    assert sizes == [50, 50, 20]


async def test_a_page_for_a_directory_contains_only_its_sessions(process: OpenArchive) -> None:
    async with process() as archive:
        archive.create(make_facts("a", cwd="/a")).append(user_message("x"))
        archive.create(make_facts("b", cwd="/b\udcff")).append(user_message("x"))
        page = await archive.page(Path("/b\udcff"), None)
    assert page.sessions == (make_facts("b", cwd="/b\udcff"),)


@pytest.mark.parametrize("cursor", ["", "x", "é", "bnVsbA==", "W10=", "WzEsMl0=", "W3RydWUsMV0="])
async def test_a_foreign_cursor_is_refused(process: OpenArchive, cursor: str) -> None:
    async with process() as archive:
        with pytest.raises(InvalidCursorError):
            await archive.page(None, cursor)
