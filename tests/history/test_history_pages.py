"""The shown history of a session, read page by page: nothing twice, nothing lost, in order."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.history import history_pages
from acp_server.history.archive import LazyArchive, SessionJournal
from acp_server.session.ports.archive import (
    Entry,
    HistoryPage,
    RemovedMessages,
    SeenFile,
    SessionArchive,
    TaskMessage,
    UnshownRecord,
)
from acp_server.session.replay import Replay, ReplayedEvent, whole_history
from acp_server.turn.conversation import AssistantMessage, Text, ToolCall, UserMessage
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    Event,
    MessageChunk,
    PromptReceived,
    SubAgentEnded,
    SubAgentProgressed,
    SubAgentStarted,
    SummaryChunk,
    TerminalOpened,
    TerminalPrinted,
    ThoughtChunk,
)
from tests.history.samples import assistant_message, make_facts, user_message

Shown = Event | PromptReceived | UnshownRecord


@pytest.fixture(params=[1, 400, 256 * 1024], ids=["an entry", "some entries", "everything"])
def page_characters(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    size: int = request.param
    monkeypatch.setattr(history_pages, "PAGE_CHARACTERS", size)
    return size


def prompt(name: str) -> PromptReceived:
    return PromptReceived(f"p-{name}", (Text(name),), name)


def turn(name: str) -> list[Shown]:
    """What a turn with a command shows."""
    call = f"c-{name}"
    return [
        prompt(name),
        ThoughtChunk(f"t-{name}", "thinking, "),
        MessageChunk(f"m-{name}", "first, "),
        ThoughtChunk(f"t-{name}", "more"),
        CallAppeared(call, "terminal", "execute"),
        TerminalOpened(call, f"term-{name}", "/"),
        TerminalPrinted(call, f"term-{name}", "output\n" * 50),
        CallChanged(call, "completed", title=name),
        SeenFile(f"/{name}", "digest"),
        MessageChunk(f"m-{name}", f"then {name}"),
    ]


def record_turn(journal: SessionJournal, shown: Sequence[Shown]) -> None:
    journal.begin_turn()
    for each in shown:
        journal.show(each)
    journal.append(user_message("x"))
    journal.append(assistant_message("y"))
    journal.end_turn()


async def pages_of(archive: SessionArchive, last_entry: int | None = None) -> list[HistoryPage]:
    return [page async for page in archive.history("one", last_entry)]


async def entries_of(archive: SessionArchive) -> list[Entry]:
    return [entry for page in await pages_of(archive) for entry in page.entries]


async def replayed_entries(archive: SessionArchive) -> list[Entry]:
    whole = whole_history(await archive.read("one"))
    unshown = SeenFile, RemovedMessages
    return [entry for entry in whole.entries if not isinstance(entry, unshown)]


@pytest.mark.usefixtures("page_characters")
async def test_pages_have_all_entries_in_order(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    for name in ("a", "b", "c"):
        record_turn(journal, turn(name))
    expected = await replayed_entries(archive)
    assert len(expected) == 12
    assert await entries_of(archive) == expected
    await archive.close()


async def test_a_page_is_bounded_by_texts_and_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history_pages, "PAGE_CHARACTERS", 10_000)
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    for number in range(10):
        call = f"c{number}"
        journal.show(CallAppeared(call, "terminal"))
        journal.show(TerminalOpened(call, call, "/"))
        journal.show(TerminalPrinted(call, call, "x" * 9_000))
        journal.show(MessageChunk(f"m{number}", "y" * 6_000))
    assert [len(page.entries) for page in await pages_of(archive)] == [2] * 10
    await archive.close()


@pytest.mark.usefixtures("page_characters")
async def test_what_a_rewind_removed_is_left_out_until_it_is_back(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    for name in ("a", "b", "c"):
        record_turn(journal, turn(name))
    journal.show(RemovedMessages("undo", (user_message("x"),), "b"))
    record_turn(journal, turn("d"))
    assert await entries_of(archive) == await replayed_entries(archive)
    journal.show(RemovedMessages("undo"))
    record_turn(journal, turn("e"))
    expected = await replayed_entries(archive)
    prompts = [each.checkpoint for each in expected if isinstance(each, PromptReceived)]
    assert prompts == ["a", "d", "b", "c", "e"]
    assert await entries_of(archive) == expected
    await archive.close()


@pytest.mark.usefixtures("page_characters")
async def test_a_running_turn_is_shown_as_it_was_at_the_first_page(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    record_turn(journal, turn("a"))
    journal.begin_turn()
    journal.show(prompt("b"))
    journal.show(MessageChunk("m-b", "one, "))
    await journal.commit()
    journal.show(MessageChunk("m-b", "two"))
    expected = await replayed_entries(archive)
    history = archive.history("one")
    found = [*(await anext(history)).entries]
    journal.show(MessageChunk("m-b", ", three"))
    journal.end_turn()  # merges the rows of the text
    await journal.commit()
    async for page in history:
        found += page.entries
    assert found == expected
    assert found[-1] == MessageChunk("m-b", "one, two")
    await archive.close()


@pytest.mark.usefixtures("page_characters")
async def test_a_text_in_several_rows_is_whole_where_it_began(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    for text in ("one, ", "two, ", "three"):  # outside of a turn, rows are not merged
        journal.show(MessageChunk("m", text))
        await journal.commit()
        journal.show(prompt(text))
    found = await entries_of(archive)
    assert found[0] == MessageChunk("m", "one, two, three")
    assert found == await replayed_entries(archive)
    await archive.close()


@pytest.mark.usefixtures("page_characters")
async def test_what_is_recorded_behind_the_last_entry_is_left_out(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    record_turn(journal, turn("a"))
    expected = await replayed_entries(archive)
    last_entry = (await archive.read_state("one")).last_entry
    journal.show(RemovedMessages("undo", (user_message("x"),), "a"))
    record_turn(journal, turn("b"))
    pages = await pages_of(archive, last_entry)
    assert [entry for page in pages for entry in page.entries] == expected
    await archive.close()


@pytest.mark.usefixtures("page_characters")
async def test_a_summary_without_an_end_is_known_on_its_page(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    record_turn(journal, [SummaryChunk("s1", "whole"), CompactionChanged("s1", "completed")])
    record_turn(journal, [SummaryChunk("s2", "cut")])
    cut = [each for page in await pages_of(archive) for each in page.cut_summaries]
    assert cut == ["s2"]
    await archive.close()


def task_turn(name: str) -> list[Shown]:
    """What two sub-agents of a call show; a message is stored behind the calls that it makes."""
    call, made = f"d-{name}", f"d-{name}.1.read"
    by = CallAppeared(made, "read_file", parent_id=call)
    said = AssistantMessage((Text("I read."), ToolCall("read", "read_file", "{}")))
    return [
        CallAppeared(call, "delegate_task"),
        TaskMessage(call, 1, user_message("find it")),
        TaskMessage(call, 2, user_message("count it")),
        by,
        CallChanged(made, "completed", parent_id=call),
        TaskMessage(call, 1, said),
        TaskMessage(call, 1, user_message("result " * 100)),
        TaskMessage(call, 2, assistant_message("Seven.")),
        TaskMessage(call, 1, assistant_message("It is there.")),
        CallChanged(call, "completed", raw_output={"tasks": [{"task": 1, "state": "done"}]}),
    ]


def label(event: ReplayedEvent) -> str:
    """The text of a sub-agent, or the kind of another event."""
    chunk = event.event if isinstance(event, SubAgentProgressed) else event
    return chunk.text if isinstance(chunk, MessageChunk) else type(chunk).__name__


@pytest.mark.usefixtures("page_characters")
async def test_sub_agents_are_replayed_from_pages_as_from_the_whole(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    journal = archive.create(make_facts())
    for name in ("a", "b"):
        record_turn(journal, task_turn(name))

    def replayed(pages: Sequence[HistoryPage]) -> list[ReplayedEvent]:
        replay = Replay((), shows_terminals=True, shows_sub_agents=True)
        return [*(each for page in pages for each in replay.events(page)), *replay.ends()]

    found = replayed(await pages_of(archive))
    assert found == replayed([whole_history(await archive.read("one"))])
    kinds = SubAgentStarted | SubAgentProgressed | SubAgentEnded | CallAppeared
    told = [label(each) for each in found if isinstance(each, kinds)]
    started, appeared = "SubAgentStarted", "CallAppeared"
    one = [appeared, started, started, "I read.", appeared, "Seven.", "It is there."]
    assert told == [*one, *one, *["SubAgentEnded"] * 4]
    await archive.close()


async def test_messages_of_a_sub_agent_are_given_once_and_without_results(tmp_path: Path) -> None:
    archive = LazyArchive(tmp_path / "sessions.db")
    record_turn(archive.create(make_facts()), task_turn("a"))
    (page,) = await pages_of(archive)
    messages = page.task_messages["d-a"]
    assert len(messages) == 6
    assert UserMessage(()) in [each.message for each in messages]
    assert replace(messages[0]) == TaskMessage("d-a", 1, user_message("find it"))
    await archive.close()
