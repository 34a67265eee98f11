"""When the growing diff of an edit begins, and what nobody is shown before leave is given."""

import os
from pathlib import Path

from tests.support.case_table import named_case
from tests.support.editor import Object, json_at
from tests.support.user_texts import MAY_HOLD_SECRETS
from tests.tools.editor_session import ToolEditorSession, allow, lines, open_tool_editor
from tests.tools.typing_model import call, stream_call

TEXT = lines(40)
HIDDEN_TEXT = "TOKEN=do-not-tell\n"


def create_files(session: ToolEditorSession) -> None:
    """Put down what may not be shown unasked; the model has read it."""
    session.write_seen_file(".env", HIDDEN_TEXT)
    session.write_seen_file("server.pem", HIDDEN_TEXT)
    (session.outside / "far.txt").write_text(HIDDEN_TEXT)
    session.mark_seen(session.outside / "far.txt", HIDDEN_TEXT)
    for link, target in (
        ("link", session.outside / "far.txt"),
        ("folder", session.outside),
        ("harmless.txt", session.root / ".env"),
    ):
        (session.root / link).unlink(missing_ok=True)
        (session.root / link).symlink_to(target)


HIDDEN = [".env", "server.pem", "../outside/far.txt", "link", "folder/new.txt", "harmless.txt"]


async def test_only_the_title_is_shown_until_the_path_is_complete(tmp_path: Path) -> None:
    seen: list[int] = []
    tool_call = call("write_file", content=TEXT, path="late.txt")
    async with open_tool_editor(tmp_path) as session:

        async def look() -> None:
            seen.append(len(session.updates_of(tool_call.id).diff_states()))

        session.model.rounds = [[*stream_call(tool_call, 30, look)]]
        await session.editor.prompt(session.session_id, "go")
        assert set(seen) == {0}
        assert session.updates_of(tool_call.id).status == "completed"


async def test_a_workspace_file_is_shown_as_soon_as_its_path_is_known(
    tmp_path: Path,
) -> None:
    tool_call = call("write_file", path="deep/down/new.txt", content=TEXT)
    async with open_tool_editor(tmp_path) as session:
        call_updates = await session.run_one(tool_call)
        assert len(call_updates.growing_diffs()) == 1
        titles = [each["title"] for each in call_updates.updates if "title" in each]
        assert titles == ["Write a file", "Write deep/down/new.txt", "Create deep/down/new.txt"]
        path = str(session.root / "deep/down/new.txt")
        assert call_updates.locations == [{"path": path, "line": 1}]


async def test_a_protected_file_is_not_shown_while_its_content_arrives(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for name in HIDDEN:
            with named_case(name):
                create_files(session)
                updates = await session.run_one(call("write_file", path=name, content=TEXT))
                assert [status for status, _ in updates.diff_states()] == ["pending", "completed"]
                assert not updates.growing_diffs()


async def test_a_patch_of_a_protected_file_is_not_shown_while_it_arrives(tmp_path: Path) -> None:
    added = "".join(f"+{line}\n" for line in TEXT.splitlines())
    patch = f"*** Begin Patch\n*** Update File: NAME\n@@\n-{HIDDEN_TEXT}{added}*** End Patch"
    names = [name for name in HIDDEN if name != "folder/new.txt"]
    async with open_tool_editor(tmp_path) as session:
        for name in names:
            with named_case(name):
                for made in (
                    call("patch", mode="patch", patch=patch.replace("NAME", name)),
                    call("patch", path=name, old_string=HIDDEN_TEXT, new_string=TEXT),
                ):
                    create_files(session)
                    updates = await session.run_one(made)
                    states = [status for status, _ in updates.diff_states()]
                    assert states == ["pending", "completed"]
                    assert not updates.growing_diffs()


async def test_no_update_reveals_protected_text_before_permission_is_granted(
    tmp_path: Path,
) -> None:
    answers = {"session/request_permission": allow("reject_once")}
    async with open_tool_editor(tmp_path, mode="accept_edits", answers=answers) as session:
        create_files(session)
        for name in HIDDEN:
            with named_case(name):
                write = call("write_file", path=name, content=TEXT)
                patch = call("patch", path=name, old_string="TOKEN", new_string=TEXT)
                unfit = call("patch", path=name, old_string="TOKEN=do-not-yell", new_string=TEXT)
                for made in (write, patch, unfit):
                    updates = await session.run_one(made)
                    assert updates.status == "failed"
                    assert not updates.diff_states()
                    assert "do-not-tell" not in str(updates)


async def test_the_exact_protected_diff_is_shown_with_the_permission_request(
    tmp_path: Path,
) -> None:
    answers = {"session/request_permission": allow()}
    async with open_tool_editor(tmp_path, mode="accept_edits", answers=answers) as session:
        create_files(session)
        updates = await session.run_one(call("write_file", path=".env", content=TEXT))
        path = str(session.root / ".env")
        block: Object = {"type": "diff", "path": path, "oldText": HIDDEN_TEXT, "newText": TEXT}
        assert updates.diff_states() == [("pending", [block]), ("completed", [block])]
        (permission,) = session.editor.asked("session/request_permission")
        why = {"type": "text", "text": f".env {MAY_HOLD_SECRETS}."}
        content = [block, {"type": "content", "content": why}]
        assert json_at(permission, "toolCall", "content") == content


async def test_a_named_pipe_in_place_of_a_file_does_not_block(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        os.mkfifo(session.root / "pipe")
        updates = await session.run_one(call("write_file", path="pipe", content=TEXT))
        assert updates.status == "failed"
        assert not updates.diff_states()
