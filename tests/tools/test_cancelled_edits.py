"""An edit that is cancelled while it is written: as if it had never been."""

from pathlib import Path

import anyio
import pytest

from acp_server.turn.conversation import ToolCall
from tests.support.editor import Object
from tests.tools.editor_session import ToolEditorSession, lines, open_tool_editor
from tests.tools.typing_model import call, stream_call

TEXT = lines(60)
PIECES = 24
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


async def cancel_at(room: ToolEditorSession, made: ToolCall, fragment: int) -> None:
    """Cancel when so many fragments have arrived, and wait for the answer."""
    reached = anyio.Event()
    typing = stream_call(made, PIECES)

    async def hang() -> None:
        reached.set()
        await anyio.sleep_forever()

    room.model.rounds = [[*typing[: fragment + 1], hang]]
    pending = room.editor.start_prompt(room.session_id, "go")
    await reached.wait()
    room.editor.cancel(room.session_id)
    assert (await pending.response())["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize("name", edits())
async def test_a_cancelled_edit_leaves_nothing_behind(tmp_path: Path, name: str) -> None:
    async with open_tool_editor(tmp_path) as room:
        old = room.write_file("old.txt", "old text\n")
        for fragment in range(PIECES + 2):
            made = edits()[name]
            await cancel_at(room, made, fragment)
            answered_at = len(room.editor.messages)
            told = room.updates_of(made.id)
            assert told.statuses == ["pending", "failed"]
            assert told.updates[-1]["status"] == "failed"
            assert told.shown_text == "cancelled by the user before it had finished"
            assert [each.name for each in room.root.iterdir()] == ["old.txt"]
            assert old.read_text() == "old text\n"
            fine = await room.run_one(call("read_file", path="old.txt"))
            assert (fine.status, fine.text) == ("completed", "old text\n")
            later: list[Object] = room.editor.messages[answered_at:]
            assert made.id not in str(later)


async def test_an_edit_waiting_for_permission_can_be_cancelled(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as room:
        made = call("write_file", path="new.txt", content=TEXT)
        room.model.rounds = [stream_call(made)]
        pending = room.editor.start_prompt(room.session_id, "go")
        question = await room.editor.wait_for_response(
            lambda each: each.get("method") == "session/request_permission"
        )
        room.editor.cancel(room.session_id)
        room.editor.reply(question, {"outcome": {"outcome": "cancelled"}})
        assert (await pending.response())["result"] == {"stopReason": "cancelled"}
        assert room.updates_of(made.id).statuses == ["pending", "failed"]
        assert list(room.root.iterdir()) == []
