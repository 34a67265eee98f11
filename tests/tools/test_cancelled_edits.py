"""An edit that is cancelled while it is written: as if it had never been."""

from pathlib import Path

import anyio
import pytest

from acp_server.turn.conversation import ToolCall
from tests.support.editor import Object
from tests.support.user_texts import CALL_CANCELLED
from tests.tools.editor_session import ToolEditorSession, lines, open_tool_editor
from tests.tools.typing_model import call, stream_call

TEXT = lines(60)
PATCH = "*** Begin Patch\n*** Add File: new.txt\n" + "".join(
    f"+{line}\n" for line in TEXT.splitlines()
)


def edits() -> dict[str, ToolCall]:
    return {
        "a new file": call("write_file", path="new.txt", content=TEXT),
        "a file replaced": call("write_file", path="old.txt", content=TEXT),
        "a replacement": call("patch", path="old.txt", old_string="old text", new_string=TEXT),
        "a patch": call("patch", mode="patch", patch=f"{PATCH}*** End Patch"),
    }


async def cancel_at(
    session: ToolEditorSession, tool_call: ToolCall, fragment: int, pieces: int
) -> None:
    """Cancel when so many fragments have arrived, and wait for the answer."""
    reached = anyio.Event()
    typing = stream_call(tool_call, pieces)

    async def hang() -> None:
        reached.set()
        await anyio.sleep_forever()

    session.model.rounds = [[*typing[: fragment + 1], hang]]
    pending = session.editor.start_prompt(session.session_id, "go")
    await reached.wait()
    session.editor.cancel(session.session_id)
    assert (await pending.response())["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize("pieces", [3, pytest.param(24, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", edits())
async def test_a_cancelled_edit_leaves_nothing_behind(
    tmp_path: Path, name: str, pieces: int
) -> None:
    async with open_tool_editor(tmp_path) as session:
        old = session.write_file("old.txt", "old text\n")
        for fragment in range(pieces + 2):
            tool_call = edits()[name]
            await cancel_at(session, tool_call, fragment, pieces)
            answered_at = len(session.editor.messages)
            call_updates = session.updates_of(tool_call.id)
            assert call_updates.statuses == ["pending", "failed"]
            assert call_updates.updates[-1]["status"] == "failed"
            assert call_updates.shown_text == CALL_CANCELLED
            assert [each.name for each in session.root.iterdir()] == ["old.txt"]
            assert old.read_text() == "old text\n"
            fine = await session.run_one(call("read_file", path="old.txt"))
            assert (fine.status, fine.text) == ("completed", "old text\n")
            later: list[Object] = session.editor.messages[answered_at:]
            assert tool_call.id not in str(later)


async def test_an_edit_waiting_for_permission_can_be_cancelled(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        tool_call = call("write_file", path="new.txt", content=TEXT)
        session.model.rounds = [stream_call(tool_call)]
        pending = session.editor.start_prompt(session.session_id, "go")
        question = await session.editor.wait_for_response(
            lambda each: each.get("method") == "session/request_permission"
        )
        session.editor.cancel(session.session_id)
        session.editor.reply(question, {"outcome": {"outcome": "cancelled"}})
        assert (await pending.response())["result"] == {"stopReason": "cancelled"}
        assert session.updates_of(tool_call.id).statuses == ["pending", "failed"]
        assert list(session.root.iterdir()) == []
