"""Copies of sessions: what they have, and that they share nothing with the original."""

from dataclasses import replace

from acp_server.session.ports.archive import (
    CallRecord,
    Journal,
    RemovedMessages,
    SeenFile,
    SessionFacts,
    SessionState,
    StoredSession,
    TaskMessage,
    TerminalRecord,
)
from acp_server.turn.conversation import Text
from acp_server.turn.events import (
    CallAppeared,
    MessageChunk,
    PromptReceived,
    TerminalOpened,
    TerminalPrinted,
)
from tests.history.archive_processes import OpenArchive
from tests.history.samples import assistant_message, make_facts, user_message


def copied(facts: SessionFacts) -> SessionFacts:
    return replace(facts, id="copy", title="A copy")


def record_turn(journal: Journal, name: str) -> None:
    journal.begin_turn()
    journal.show(PromptReceived(f"p-{name}", (Text(name),), name))
    journal.append(user_message(name))
    journal.show(SeenFile(f"/{name}", "digest"))
    journal.show(MessageChunk(f"m-{name}", f"said {name}"))
    journal.append(assistant_message(name))
    journal.end_turn()


async def begin_turn(journal: Journal, name: str) -> None:
    """Record a turn up to the middle of its answer, while a command runs."""
    journal.begin_turn()
    journal.show(PromptReceived(f"p-{name}", (Text(name),), name))
    journal.append(user_message(name))
    journal.show(CallAppeared("c", "terminal"))
    journal.show(TaskMessage("c", 1, user_message("a task")))
    journal.show(TerminalOpened("c", "t", "/"))
    journal.show(TerminalPrinted("c", "t", "output"))
    journal.show(MessageChunk(f"m-{name}", "half an "))
    await journal.commit()
    journal.show(MessageChunk(f"m-{name}", "answer"))


def check_state(state: SessionState, original: StoredSession) -> None:
    assert state.facts == replace(original.facts, id="copy", title="A copy")
    assert tuple(state.messages) == original.messages
    assert (state.is_turn_open, state.partial_reply) == (True, "half an answer")
    assert [each.path for each in state.seen_files] == ["/a", "/b"]


async def test_a_fork_has_history_conversation_and_seen_files(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(replace(make_facts(), title="The original"))
        record_turn(journal, "a")
        record_turn(journal, "b")
        journal.show(RemovedMessages("undo", (user_message("b"),), "b"))
        journal.rebuild([user_message("a"), assistant_message("a")])
        await begin_turn(journal, "c")
        before = await archive.read("one")
        forked = await archive.fork("one", copied)
        check_state(forked.state, before)
        await forked.journal.commit()
        assert await archive.read("one") == before
        forked.journal.append(assistant_message("in the copy"))
        await forked.journal.commit()
        copy = await archive.read("copy")
    assert copy.facts.title == "A copy"
    assert copy.messages == (*before.messages, assistant_message("in the copy"))
    assert not copy.is_turn_open
    assert [each.path for each in copy.entries if isinstance(each, SeenFile)] == ["/a", "/b"]
    shown = [each for each in copy.entries if not isinstance(each, SeenFile)]
    first, _, last, call, answer = shown
    assert (first, last) == (before.entries[0], PromptReceived("p-c", (Text("c"),), "c"))
    assert isinstance(call, CallRecord)
    assert call.state.status == "failed"
    assert call.terminal == TerminalRecord("t", "/", "output")
    assert answer == MessageChunk("m-c", "half an answer")


async def test_what_a_rewind_brought_back_keeps_its_place_in_a_fork(process: OpenArchive) -> None:
    async with process() as archive:
        journal = archive.create(make_facts())
        for name in ("a", "b"):
            journal.show(PromptReceived(f"p-{name}", (Text(name),), name))
        journal.show(RemovedMessages("undo", (user_message("b"),), "b"))
        journal.show(PromptReceived("p-c", (Text("c"),), "c"))
        journal.show(RemovedMessages("undo"))
        journal.append(user_message("a"))
        await archive.fork("one", copied)
        copy: StoredSession = await archive.read("copy")
    assert [each.checkpoint for each in copy.entries if isinstance(each, PromptReceived)] == [
        "a",
        "c",
        "b",
    ]
