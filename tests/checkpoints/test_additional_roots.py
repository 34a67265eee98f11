"""A session with more folders than one: an undo brings back what was in any of them."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.turn.conversation import ToolCall
from tests.checkpoints.scripts import PERMISSION_METHOD, entries, files_of, run_slash_command
from tests.checkpoints.test_links import clear
from tests.support.case_table import named_case
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


async def with_second_root(base: ToolEditorSession, *, second: Path) -> ToolEditorSession:
    """Open another session, which has a second folder."""
    session = await base.editor.new_session(base.root, additionalDirectories=[str(second)])
    return replace(base, session_id=session)


def create_files(session: ToolEditorSession) -> None:
    for root in (session.root, session.outside):
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


async def test_changes_in_a_second_root_are_undone_too(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as first:
        session = await with_second_root(first, second=first.outside)
        for name, made in EDITS.items():
            with named_case(name):
                create_files(session)
                await change_and_undo(session, made)
            for root in (session.root, session.outside):
                clear(root)


async def change_and_undo(session: ToolEditorSession, made: Edits) -> None:
    """Have a turn change both folders, undo it, and undo the undo."""
    roots = (session.root, session.outside)
    before = [files_of(entries(root)) for root in roots]
    await session.run(*made(session.outside))
    after = [files_of(entries(root)) for root in roots]
    assert after[1] != before[1]
    text = await run_slash_command(session, "/undo")
    assert [files_of(entries(root)) for root in roots] == before, text
    await run_slash_command(session, "/undo 1")
    assert [files_of(entries(root)) for root in roots] == after


async def test_a_manual_change_in_a_second_root_requires_confirmation(tmp_path: Path) -> None:
    async with open_tool_editor(
        tmp_path, answers={PERMISSION_METHOD: allow("reject_once")}
    ) as first:
        session = await with_second_root(first, second=first.outside)
        create_files(session)
        await session.run(call("terminal", command=f"echo turn > {session.outside}/a.txt"))
        (session.outside / "a.txt").write_text("by hand\n")
        await run_slash_command(session, "/undo")
        assert len(session.editor.asked(PERMISSION_METHOD)) == 1
        assert (session.outside / "a.txt").read_text() == "by hand\n"
