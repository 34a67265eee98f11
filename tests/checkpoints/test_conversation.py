"""What the model is told of an undo, and the conversation that is cut with it, or comes back."""

from pathlib import Path

from acp_server.turn.conversation import AssistantMessage, Message, Text, UserMessage
from tests.checkpoints.scripts import PERMISSION_METHOD, run_slash_command
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
        assert "The conversation was restored" in output
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


async def test_the_conversation_is_not_restored_if_it_was_replaced(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="one\n"))
        await session.run(call("write_file", path="a.txt", content="two\n"))
        await run_slash_command(session, "/undo 2 --conversation")
        output = await run_slash_command(session, "/undo 2 --conversation")
        assert output.startswith("The conversation cannot be rewound to that turn")
        assert path.read_text() == "old\n"
