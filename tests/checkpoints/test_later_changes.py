"""What somebody has changed since a turn is never undone with it unasked; the gate decides."""

import shutil
from pathlib import Path
from typing import cast

import pytest

from acp_server.permissions.modes import Mode
from acp_server.permissions.reasons import CHANGED_SINCE
from tests.checkpoints.scripts import PERMISSION_METHOD, run_slash_command
from tests.support.editor import Object, json_at
from tests.support.user_texts import (
    CONVERSATION_RESTORED,
    PLAN_MODE_IS_ON,
    USER_DID_NOT_PERMIT,
)
from tests.tools.editor_session import allow, open_tool_editor
from tests.tools.typing_model import call

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


async def test_a_file_changed_since_requires_confirmation_even_if_nothing_else_does(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(
        tmp_path, answers={PERMISSION_METHOD: allow("reject_once")}
    ) as session:
        mine, theirs = (
            session.write_file("mine.txt", "old\n"),
            session.write_file("theirs.txt", "old\n"),
        )
        await session.run(call("terminal", command="echo turn > mine.txt; echo turn > theirs.txt"))
        mine.write_text("changed by hand\n")
        output = await run_slash_command(session, "/undo")
        (asked,) = session.editor.asked(PERMISSION_METHOD)
        reason = f"{CHANGED_SINCE.format(names='mine.txt')}."
        assert json_at(asked, "toolCall", "content") == [
            {
                "type": "diff",
                "path": str(mine),
                "oldText": "changed by hand\n",
                "newText": "old\n",
            },
            {"type": "content", "content": {"type": "text", "text": reason}},
        ]
        assert (mine.read_text(), theirs.read_text()) == ("changed by hand\n", "old\n")
        assert f"`mine.txt` was not restored: {USER_DID_NOT_PERMIT}" in output


async def test_later_changes_are_restored_when_the_undo_is_undone(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="turn\n"))
        path.write_text("changed by hand\n")
        await run_slash_command(session, "/undo")
        assert path.read_text() == "old\n"
        await run_slash_command(session, "/undo 1")
        assert path.read_text() == "changed by hand\n"


async def test_a_later_turn_counts_as_a_later_change(tmp_path: Path) -> None:
    async with open_tool_editor(
        tmp_path, answers={PERMISSION_METHOD: allow("reject_once")}
    ) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="one\n"))
        await session.run(call("write_file", path="a.txt", content="two\n"))
        await run_slash_command(session, "/undo 2")
        assert (path.read_text(), len(session.editor.asked(PERMISSION_METHOD))) == ("two\n", 1)


async def test_the_permission_request_shows_the_diff_and_nothing_happens_without_permission(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(
        tmp_path, mode="ask", answers={PERMISSION_METHOD: allow()}
    ) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="new\n"))
        await run_slash_command(session, "/undo")
        _, asked = session.editor.asked(PERMISSION_METHOD)
        tool_call = cast("Object", asked["toolCall"])
        diff: Object = {"type": "diff", "path": str(path), "oldText": "new\n", "newText": "old\n"}
        assert (tool_call["title"], tool_call["kind"]) == ("Restore a.txt?", "edit")
        assert tool_call["content"] == [diff]
        updates = session.updates_of(str(tool_call["toolCallId"]))
        assert (updates.statuses, path.read_text()) == (
            ["pending", "in_progress", "completed"],
            "old\n",
        )


@pytest.mark.parametrize(("mode", "is_asked"), [("accept_edits", 0), ("bypass", 0), ("ask", 1)])
async def test_an_undo_requires_permission_like_any_write(
    tmp_path: Path, mode: Mode, is_asked: int
) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="new\n"))
        await run_slash_command(session, f"/mode {mode}")
        await run_slash_command(session, "/undo")
        assert (path.read_text(), len(session.editor.asked(PERMISSION_METHOD))) == (
            "old\n",
            is_asked,
        )


async def test_plan_mode_refuses_an_undo(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        path = session.write_seen_file("a.txt", "old\n")
        await session.run(call("write_file", path="a.txt", content="new\n"))
        await run_slash_command(session, "/mode plan")
        output = await run_slash_command(session, "/undo --conversation")
        assert path.read_text() == "new\n"
        assert PLAN_MODE_IS_ON in output
        assert CONVERSATION_RESTORED not in output
