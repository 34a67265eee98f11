"""A session with more folders than one: an undo brings back what was in any of them."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.turn.conversation import ToolCall
from tests.checkpoints.scripts import PERMISSION_METHOD, entries, files_of, run_slash_command
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


async def with_second_root(room: ToolEditorSession, *, second: Path) -> ToolEditorSession:
    """Open another session, which has a second folder."""
    session = await room.editor.new_session(room.root, additionalDirectories=[str(second)])
    return replace(room, session_id=session)


def furnish(room: ToolEditorSession) -> None:
    for root in (room.root, room.outside):
        for name, data in (("a.txt", b"one\n"), ("sub/b.bin", bytes(range(256))), ("c", b"c\r\n")):
            path = root / name
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(data)
        (root / "sub/b.bin").chmod(0o600)
        (root / "link").symlink_to("a.txt")


DELETION = "*** Begin Patch\n*** Delete File: {}/c\n*** End Patch"
Edits = Callable[[Path], tuple[ToolCall, ...]]
EDITS: dict[str, Edits] = {
    "tools": lambda far: (
        call("write_file", path=f"{far}/a.txt", content="other\n"),
        call("write_file", path=f"{far}/made/new.txt", content="new\n"),
        call("patch", mode="patch", patch=DELETION.format(far)),
    ),
    "a command": lambda far: (
        call(
            "terminal",
            command=f"cd {far} && echo more >> a.txt && rm c link && chmod 755 sub/b.bin "
            "&& mv sub/b.bin moved && mkdir -p x/y && echo new > x/y/z",
        ),
    ),
    "both, in both": lambda far: (
        call("write_file", path=f"{far}/a.txt", content="other\n"),
        call("write_file", path="a.txt", content="other\n"),
        call("terminal", command=f"rm -rf sub {far}/sub; ln -s {far} way; echo x > {far}/c"),
    ),
}


@pytest.mark.parametrize("made", EDITS.values(), ids=EDITS.keys())
async def test_changes_in_a_second_root_are_undone_too(tmp_path: Path, made: Edits) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as first:
        room = await with_second_root(first, second=first.outside)
        furnish(room)
        before = [files_of(entries(root)) for root in (room.root, room.outside)]
        await room.run(*made(room.outside))
        after = [files_of(entries(root)) for root in (room.root, room.outside)]
        assert after[1] != before[1]
        said = await run_slash_command(room, "/undo")
        assert [files_of(entries(root)) for root in (room.root, room.outside)] == before, said
        await run_slash_command(room, "/undo 1")
        assert [files_of(entries(root)) for root in (room.root, room.outside)] == after


async def test_a_manual_change_in_a_second_root_requires_confirmation(tmp_path: Path) -> None:
    async with open_tool_editor(
        tmp_path, answers={PERMISSION_METHOD: allow("reject_once")}
    ) as first:
        room = await with_second_root(first, second=first.outside)
        furnish(room)
        await room.run(call("terminal", command=f"echo turn > {room.outside}/a.txt"))
        (room.outside / "a.txt").write_text("by hand\n")
        await run_slash_command(room, "/undo")
        assert len(room.editor.asked(PERMISSION_METHOD)) == 1
        assert (room.outside / "a.txt").read_text() == "by hand\n"
