"""When the growing diff of an edit begins, and what nobody is shown before leave is given."""

import os
from pathlib import Path

import pytest

from tests.support.editor import Object, json_at
from tests.tools.editor_session import ToolEditorSession, allow, lines, open_tool_editor
from tests.tools.typing_model import call, stream_call

TEXT = lines(40)
HIDDEN_TEXT = "TOKEN=do-not-tell\n"


def furnish(room: ToolEditorSession) -> None:
    """Put down what nobody may see unasked."""
    room.write_file(".env", HIDDEN_TEXT)
    room.write_file("server.pem", HIDDEN_TEXT)
    (room.outside / "far.txt").write_text(HIDDEN_TEXT)
    for link, target in (
        ("link", room.outside / "far.txt"),
        ("folder", room.outside),
        ("harmless.txt", room.root / ".env"),
    ):
        (room.root / link).unlink(missing_ok=True)
        (room.root / link).symlink_to(target)


HIDDEN = [".env", "server.pem", "../outside/far.txt", "link", "folder/new.txt", "harmless.txt"]


async def test_only_the_title_is_shown_until_the_path_is_complete(tmp_path: Path) -> None:
    seen: list[int] = []
    made = call("write_file", content=TEXT, path="late.txt")
    async with open_tool_editor(tmp_path) as room:

        async def look() -> None:
            seen.append(len(room.updates_of(made.id).diff_states()))

        room.model.rounds = [[*stream_call(made, 30, look)]]
        await room.editor.prompt(room.session_id, "go")
        assert set(seen) == {0}
        assert room.updates_of(made.id).status == "completed"


async def test_a_workspace_file_is_shown_as_soon_as_its_path_is_known(
    tmp_path: Path,
) -> None:
    made = call("write_file", path="deep/down/new.txt", content=TEXT)
    async with open_tool_editor(tmp_path) as room:
        told = await room.run_one(made)
        assert len(told.growing_diffs()) == 1
        titles = [each["title"] for each in told.updates if "title" in each]
        assert titles == ["Write a file", "Write deep/down/new.txt", "Create deep/down/new.txt"]
        path = str(room.root / "deep/down/new.txt")
        assert told.locations == [{"path": path, "line": 1}]


@pytest.mark.parametrize("name", HIDDEN)
async def test_a_protected_file_is_not_shown_while_its_content_arrives(
    tmp_path: Path, name: str
) -> None:
    async with open_tool_editor(tmp_path) as room:
        furnish(room)
        told = await room.run_one(call("write_file", path=name, content=TEXT))
        shown = [status for status, _ in told.diff_states()]
        assert shown == ["pending", "completed"]
        assert not told.growing_diffs()


@pytest.mark.parametrize("name", [name for name in HIDDEN if name != "folder/new.txt"])
async def test_a_patch_of_a_protected_file_is_not_shown_while_it_arrives(
    tmp_path: Path, name: str
) -> None:
    added = "".join(f"+{line}\n" for line in TEXT.splitlines())
    patch = f"*** Begin Patch\n*** Update File: {name}\n@@\n-{HIDDEN_TEXT}{added}*** End Patch"
    async with open_tool_editor(tmp_path) as room:
        for made in (
            call("patch", mode="patch", patch=patch),
            call("patch", path=name, old_string=HIDDEN_TEXT, new_string=TEXT),
        ):
            furnish(room)
            told = await room.run_one(made)
            assert [status for status, _ in told.diff_states()] == ["pending", "completed"]
            assert not told.growing_diffs()


@pytest.mark.parametrize("name", HIDDEN)
async def test_no_update_reveals_protected_text_before_permission_is_granted(
    tmp_path: Path, name: str
) -> None:
    answers = {"session/request_permission": allow("reject_once")}
    async with open_tool_editor(tmp_path, mode="accept_edits", answers=answers) as room:
        furnish(room)
        write = call("write_file", path=name, content=TEXT)
        patch = call("patch", path=name, old_string="TOKEN", new_string=TEXT)
        unfit = call("patch", path=name, old_string="TOKEN=do-not-yell", new_string=TEXT)
        for made in (write, patch, unfit):
            told = await room.run_one(made)
            assert told.status == "failed"
            assert not told.diff_states()
            assert "do-not-tell" not in str(told)


async def test_the_exact_protected_diff_is_shown_with_the_permission_request(
    tmp_path: Path,
) -> None:
    answers = {"session/request_permission": allow()}
    async with open_tool_editor(tmp_path, mode="accept_edits", answers=answers) as room:
        furnish(room)
        told = await room.run_one(call("write_file", path=".env", content=TEXT))
        path = str(room.root / ".env")
        block: Object = {"type": "diff", "path": path, "oldText": HIDDEN_TEXT, "newText": TEXT}
        assert told.diff_states() == [("pending", [block]), ("completed", [block])]
        (asked,) = room.editor.asked("session/request_permission")
        why = {"type": "text", "text": "Asked because: .env may hold secrets or settings"}
        content = [block, {"type": "content", "content": why}]
        assert json_at(asked, "toolCall", "content") == content


async def test_a_named_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as room:
        os.mkfifo(room.root / "pipe")
        told = await room.run_one(call("write_file", path="pipe", content=TEXT))
        assert told.status == "failed"
        assert not told.diff_states()
