"""What every archive does: the contract of the port, for the one on disk and the one in memory."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    SavedSystem,
    StoredSession,
    TerminalRecord,
)
from acp_server.turn.conversation import Text
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    ContextMeasured,
    Event,
    FileDiff,
    Location,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PlanEntry,
    PromptReceived,
    SummaryChunk,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
    Usage,
)
from acp_server.turn.usage_totals import UsageTotals
from tests.history.archive_processes import OpenArchive, read_in_new_process, show_events
from tests.history.samples import assistant_message, make_facts, user_message


async def test_a_session_is_restored_as_it_was_recorded(process: OpenArchive) -> None:
    facts = replace(
        make_facts(),
        additional_directories=(Path("/other"), Path("/third folder")),
        title="A title",
        mode="plan",
        model_id="model",
        thought_level="high",
        network="off",
        ports="on",
        fast_mode="on",
        usage=UsageTotals(Usage(1, 2, 3, 4, 5), 6, 0.7, 8),
        system=SavedSystem("You are", "model", datetime.now(UTC), {"files": [["a", None]]}),
    )
    async with process() as archive:
        journal = archive.create(facts)
        journal.append(user_message("hello"))
        journal.append(assistant_message("hi"))
    assert await read_in_new_process(process) == StoredSession(
        facts, (user_message("hello"), assistant_message("hi")), ()
    )


async def test_recorded_data_can_be_read_immediately(process: OpenArchive) -> None:
    async with process() as archive:
        archive.create(make_facts()).append(user_message("hello"))
        assert (await archive.read("one")).messages == (user_message("hello"),)


SHOWN: tuple[tuple[str, tuple[Event | PromptReceived, ...], tuple[Entry, ...]], ...] = (
    (
        "chunks of a message are one",
        (MessageChunk("a", "x"), MessageChunk("a", "y"), MessageChunk("b", "z")),
        (MessageChunk("a", "xy"), MessageChunk("b", "z")),
    ),
    (
        "a message that was interrupted is one, where it began",
        (MessageChunk("a", "x"), NoticeRaised("info", "n", "m"), MessageChunk("a", "y")),
        (MessageChunk("a", "xy"), NoticeRaised("info", "n", "m")),
    ),
    (
        "a thought and a message of one id are two",
        (ThoughtChunk("a", "x"), MessageChunk("a", "y"), ThoughtChunk("a", "z")),
        (ThoughtChunk("a", "xz"), MessageChunk("a", "y")),
    ),
    (
        "prompts, plans and notices stay in order",
        (
            PromptReceived("p", (Text("do"),)),
            PlanChanged((PlanEntry("first", "pending"),)),
            NoticeRaised("warning", "careful", "n", is_said=True),
            PlanChanged((PlanEntry("first", "completed"),)),
        ),
        (
            PromptReceived("p", (Text("do"),)),
            PlanChanged((PlanEntry("first", "pending"),)),
            NoticeRaised("warning", "careful", "n", is_said=True),
            PlanChanged((PlanEntry("first", "completed"),)),
        ),
    ),
    (
        "changes of a call are one, what was not told stays",
        (
            CallAppeared("c", "patch", "edit"),
            CallChanged("c", title="Edit a", locations=(Location("/a", 3),), raw_input={"a": [1]}),
            MessageChunk("m", "text"),
            CallChanged("c", "in_progress", content=(FileDiff("/a", None, "new"),)),
            CallChanged("c", permission="allow"),
            CallChanged("c", "completed", raw_output={"text": "done"}),
            CallChanged("c", content=(Text("after"),), instructions=("AGENTS.md",)),
        ),
        (
            CallRecord(
                CallAppeared("c", "patch", "edit"),
                CallChanged(
                    "c",
                    "completed",
                    "Edit a",
                    (Text("after"),),
                    (Location("/a", 3),),
                    {"a": [1]},
                    {"text": "done"},
                    ("AGENTS.md",),
                    permission="allow",
                ),
            ),
            MessageChunk("m", "text"),
        ),
    ),
    (
        "of passing states only titles and places are kept, of measurements nothing",
        (
            CallAppeared("c", "patch"),
            CallChanged("c", title="t", content=(Text("growing"),), is_passing=True),
            ContextMeasured(1, 2, None),
            CallChanged("c", "completed"),
        ),
        (CallRecord(CallAppeared("c", "patch"), CallChanged("c", "completed", "t")),),
    ),
    (
        "a second call of the same id is another call",
        (
            CallAppeared("c", "first"),
            CallChanged("c", "completed"),
            CallAppeared("c", "second"),
            CallChanged("c", "failed"),
        ),
        (
            CallRecord(CallAppeared("c", "first"), CallChanged("c", "completed")),
            CallRecord(CallAppeared("c", "second"), CallChanged("c", "failed")),
        ),
    ),
    (
        "a command's output is kept with its call",
        (
            CallAppeared("c", "terminal", "execute"),
            TerminalOpened("c", "t", "/project"),
            TerminalPrinted("c", "t", "one\n"),
            TerminalPrinted("c", "t", "two\0\ud800\n"),
            TerminalEnded("c", "t", None, "SIGKILL"),
            CallChanged("c", "failed"),
        ),
        (
            CallRecord(
                CallAppeared("c", "terminal", "execute"),
                CallChanged("c", "failed"),
                TerminalRecord("t", "/project", "one\ntwo\0\ud800\n", None, "SIGKILL"),
            ),
        ),
    ),
    (
        "news of a call that never appeared are dropped",
        (CallChanged("c", "completed"), TerminalPrinted("c", "t", "x")),
        (),
    ),
    (
        "of a compaction the summary and how it ended are kept",
        (
            CompactionChanged("c", "in_progress"),
            SummaryChunk("c", "summary"),
            CompactionChanged("c", "completed", notice=NoticeRaised("info", "shorter", "n")),
        ),
        (
            SummaryChunk("c", "summary"),
            CompactionChanged("c", "completed", notice=NoticeRaised("info", "shorter", "n")),
        ),
    ),
    (
        "halves of characters and NUL are kept",
        (MessageChunk("\ud800", "a\0\udc00\ud800\udc00"), NoticeRaised("info", "\udfff\0", "n")),
        (MessageChunk("\ud800", "a\0\udc00\ud800\udc00"), NoticeRaised("info", "\udfff\0", "n")),
    ),
)


@pytest.mark.parametrize("is_committed", [False, True], ids=["at once", "one by one"])
@pytest.mark.parametrize(
    ("events", "entries"), [case[1:] for case in SHOWN], ids=[case[0] for case in SHOWN]
)
async def test_displayed_events_are_stored_completely(
    process: OpenArchive,
    events: tuple[Event | PromptReceived, ...],
    entries: tuple[Entry, ...],
    *,
    is_committed: bool,
) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("hello"))
        journal.begin_turn()
        for event in events:
            journal.show(event)
            if is_committed:
                await journal.commit()
        assert (await archive.read("one")).entries == entries
        journal.end_turn()
    assert (await read_in_new_process(process)).entries == entries


async def test_a_tool_call_can_change_after_its_turn(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("run"))
        journal.begin_turn()
        show_events(journal, CallAppeared("c", "t"), CallChanged("c", "completed", title="t"))
        show_events(journal, TerminalOpened("c", "t", "/"), TerminalPrinted("c", "t", "x"))
        journal.end_turn()
        await journal.commit()
        show_events(journal, TerminalPrinted("c", "t", "y"), TerminalEnded("c", "t", 0, None))
    record = CallRecord(
        CallAppeared("c", "t"),
        CallChanged("c", "completed", "t"),
        TerminalRecord("t", "/", "xy", 0),
    )
    assert (await read_in_new_process(process)).entries == (record,)


@pytest.mark.parametrize("piece", [1_000, 70_000, 250_000])
async def test_the_end_of_long_output_is_kept(process: OpenArchive, piece: int) -> None:
    data = "".join(f"{number:9}\n" for number in range(25_000))
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.append(user_message("run"))
        show_events(journal, CallAppeared("c", "t"), TerminalOpened("c", "t", "/"))
        for start in range(0, len(data), piece):
            journal.show(TerminalPrinted("c", "t", data[start : start + piece]))
            await journal.commit()
        (record,) = (await archive.read("one")).entries
    terminal = TerminalRecord("t", "/", data[-100_000:])
    assert record == CallRecord(CallAppeared("c", "t"), CallChanged("c"), terminal)


async def test_a_rebuilt_conversation_replaces_the_old_one(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        for number in range(3):
            journal.append(user_message(str(number)))
        journal.rebuild([user_message("summary")])
        journal.append(assistant_message("after"))
        await journal.commit()
        journal.append(user_message("later"))
    expected = (user_message("summary"), assistant_message("after"), user_message("later"))
    assert (await read_in_new_process(process)).messages == expected


async def test_facts_are_updated_and_their_timestamp_never_decreases(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts(minute=5))
        journal.append(user_message("hello"))
        journal.update(replace(make_facts(minute=3), title="New", mode="bypass"))
    facts = (await read_in_new_process(process)).facts
    assert facts == replace(make_facts(minute=5), title="New", mode="bypass")


async def test_a_system_prompt_can_be_withdrawn(process: OpenArchive) -> None:
    system = SavedSystem("text", "model", datetime.now(UTC), {})
    async with process() as archive:
        journal = archive.create(replace(make_facts(), system=system))
        journal.append(user_message("hello"))
        await journal.commit()
        journal.update(make_facts())
    assert (await read_in_new_process(process)).facts.system is None


async def test_usage_is_stored_as_it_was_reported(process: OpenArchive) -> None:
    totals = UsageTotals()
    async with process() as archive:
        journal = archive.create(replace(make_facts(), usage=totals))
        journal.append(user_message("hello"))
        totals.add(Usage(1), 1.0)
    assert (await read_in_new_process(process)).facts.usage == UsageTotals()


async def test_timestamps_of_any_time_zone_mean_the_same_instant(process: OpenArchive) -> None:
    moment = datetime(2026, 1, 1, 5, 0, 0, 123_457, timezone(timedelta(hours=-7, minutes=-30)))
    async with process() as archive:
        archive.create(replace(make_facts(), created_at=moment, updated_at=moment)).append(
            user_message("x")
        )
    facts = (await read_in_new_process(process)).facts
    assert (facts.created_at, facts.updated_at) == (moment, moment)


async def test_unfinished_output_of_an_interrupted_turn_is_reported(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.begin_turn()
        journal.show(PromptReceived("p", (Text("go"),)))
        journal.append(user_message("go"))
        await journal.commit()
        show_events(journal, MessageChunk("a", "x"), CallAppeared("c", "t"), MessageChunk("b", "y"))
    found = await read_in_new_process(process)
    record = CallRecord(CallAppeared("c", "t"), CallChanged("c"))
    assert (found.is_turn_open, found.unfinished) == (
        True,
        (MessageChunk("a", "x"), record, MessageChunk("b", "y")),
    )


async def test_a_chunk_after_the_last_saved_message_is_unfinished(
    process: OpenArchive,
) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.begin_turn()
        journal.show(MessageChunk("a", "kept "))
        journal.append(assistant_message("kept "))
        journal.show(MessageChunk("a", "torn"))
    found = await read_in_new_process(process)
    assert found.entries == (MessageChunk("a", "kept torn"),)
    assert found.unfinished == (MessageChunk("a", "torn"),)


async def test_nothing_is_unfinished_after_the_turn_has_ended(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        journal.begin_turn()
        journal.append(user_message("go"))
        journal.show(MessageChunk("a", "x"))
        journal.end_turn()
    found = await read_in_new_process(process)
    assert (found.is_turn_open, found.unfinished) == (False, ())
