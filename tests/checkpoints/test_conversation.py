"""What the model is told of an undo, and the conversation that is cut with it, or comes back."""

from pathlib import Path

from acp_server.session.conversation_rewinds import ConversationRewinds, Rewinding
from acp_server.session.ports.null_archive import NullJournal
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    Text,
    UserMessage,
)
from tests.checkpoints.scripts import PERMISSION_METHOD, run_slash_command
from tests.journeys.day import DayConfig, open_day
from tests.journeys.model_seat import ModelProgram
from tests.journeys.shown_request import ShownRequest
from tests.journeys.test_two_sessions import write
from tests.support.user_texts import CONVERSATION_CLEARED, CONVERSATION_RESTORED
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call

NOTE = "[The user has undone “go”. Brought back: `a.txt`.]"
PAIR: list[Message] = [UserMessage((Text(NOTE),)), AssistantMessage((Text("(Noted.)"),))]


async def messages_after(session: ToolEditorSession, text: str) -> list[Message]:
    """Send a prompt without calls, and return what the model was sent with it."""
    session.model.rounds = [[]]
    await session.editor.prompt(session.session_id, text)
    return list(session.model.requests[-1].messages)


async def test_the_model_is_told_which_files_were_restored(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="new\n"))
        await run_slash_command(session, "/undo")
        sent = await messages_after(session, "and now?")
        assert len(sent) == 7
        assert sent[4:6] == PAIR


async def test_reset_clears_the_conversation_and_leaves_files(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("a.txt", "old\n")
        before = await messages_after(session, "hello")
        output = await run_slash_command(session, "/reset")
        assert CONVERSATION_CLEARED in output
        after = await messages_after(session, "and now?")
        assert path.read_text() == "old\n"
        assert len(before) >= 1
        assert len(after) == 1
        assert "hello" not in repr(after)


async def test_restoring_the_conversation_keeps_earlier_messages_and_adds_a_note(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_seen_file("a.txt", "old\n")
        first = await messages_after(session, "hello")
        await session.run(call("write_file", path="a.txt", content="new\n"))
        output = await run_slash_command(session, "/undo --conversation")
        sent = await messages_after(session, "and now?")
        assert path.read_text() == "old\n"
        assert CONVERSATION_RESTORED in output
        assert sent[0] == first[0]
        assert [*sent[2:4]] == PAIR
        assert [type(each).__name__ for each in sent] == ["UserMessage", "AssistantMessage"] * 2 + [
            "UserMessage"
        ]


async def test_undoing_a_conversation_restore_restores_both(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="new\n"))
        before = await messages_after(session, "so?")
        await run_slash_command(session, "/undo --conversation")
        await run_slash_command(session, "/undo 1 --conversation")
        sent = await messages_after(session, "and now?")
        assert path.read_text() == "new\n"
        assert sent[:2] == PAIR
        assert sent[2 : 2 + len(before)] == before


def test_a_conversation_restore_can_be_undone_by_another_process(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    root.mkdir()
    (root / "a.txt").write_text("old\n")
    shown_parts: list[str] = []

    def answer(shown: ShownRequest) -> ModelProgram:
        shown_parts[:] = [part.text for part in shown.parts]
        yield from ()
        return "So it is."

    with open_day(tmp_path, DayConfig(mode="bypass")) as day:
        session = day.open_session(root)
        session.prompt("Change it.", write("a.txt", "new\n"))
        session.command("/undo --conversation")
        assert (root / "a.txt").read_text() == "old\n"
        day.kill()
        day.start()
        session.load()
        session.command("/undo 1 --conversation")
        assert (root / "a.txt").read_text() == "new\n"
        session.prompt("And now?", answer)
        assert "Change it." in "\n".join(shown_parts)
        session.load()
        # The messages are back: going back once more must not add them a second time.
        output = session.command("/undo 2 --conversation")
        assert "removed no messages that are still known" in output


def prompt(text: str, checkpoint: str = "") -> UserMessage:
    """Return a prompt, of an earlier version if it names no checkpoint."""
    return UserMessage((Text(text),), checkpoint)


def test_a_prompt_of_an_earlier_version_is_found_by_its_title_if_that_is_clear() -> None:
    answer = AssistantMessage((Text("Done."),))
    messages = [prompt("one"), answer, prompt("go on"), answer, prompt("go on"), answer]
    messages += [prompt("two", "0001"), answer]
    rewinds = ConversationRewinds(Conversation(messages), NullJournal(), {})
    assert rewinds.find_titled("one") == Rewinding(())
    assert [rewinds.find_titled(title) for title in ("go on", "two", "Done.")] == [None] * 3


async def test_the_conversation_is_not_restored_if_it_was_replaced(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="one\n"))
        await session.run(call("write_file", path="a.txt", content="two\n"))
        await run_slash_command(session, "/undo 2 --conversation")
        output = await run_slash_command(session, "/undo 2 --conversation")
        assert output.startswith("The conversation cannot be rewound to that turn")
        assert path.read_text() == "old\n"
