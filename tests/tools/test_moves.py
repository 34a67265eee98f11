"""Files that a patch moves: shown as what goes and what comes, and never onto another."""

from pathlib import Path

from tests.support.editor import Object, json_at
from tests.tools.editor_session import allow, open_tool_editor
from tests.tools.typing_model import call

ASKING = "session/request_permission"
PATCH = """\
*** Begin Patch
*** Update File: a.txt
*** Move to: sub/b.txt
@@
-one
+two
*** End Patch
"""


async def test_a_move_asks_permission_for_both_paths(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask", answers={ASKING: allow()}) as session:
        old, new = session.write_file("a.txt", "one\n"), session.root / "sub/b.txt"
        updates = await session.run_one(call("patch", mode="patch", patch=PATCH))
        (permission,) = session.editor.asked(ASKING)
        gone: Object = {"hermes": {"deletion": True}}
        blocks: list[Object] = [
            {"_meta": gone, "type": "diff", "path": str(old), "oldText": "one\n", "newText": ""},
            {"type": "diff", "path": str(new), "oldText": None, "newText": "two\n"},
        ]
        assert json_at(permission, "toolCall", "title") == "Move a.txt to sub/b.txt"
        assert json_at(permission, "toolCall", "kind") == "move"
        assert json_at(permission, "toolCall", "content") == blocks
        assert updates.status == "completed"
        assert (old.exists(), new.read_text()) == (False, "two\n")


async def test_a_file_that_is_left_empty_is_not_shown_as_deleted(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask", answers={ASKING: allow()}) as session:
        old, gone = session.write_file("a.txt", "one\n"), session.write_file("b.txt", "two\n")
        files = "*** Update File: a.txt\n@@\n-one\n*** Delete File: b.txt"
        patch = f"*** Begin Patch\n{files}\n*** End Patch"
        await session.run_one(call("patch", mode="patch", patch=patch))
        (permission,) = session.editor.asked(ASKING)
        empty = {"type": "diff", "path": str(old), "oldText": "one\n", "newText": ""}
        assert json_at(permission, "toolCall", "content", 0) == empty
        meta = json_at(permission, "toolCall", "content", 1, "_meta")
        assert meta == {"hermes": {"deletion": True}}
        assert (old.read_text(), gone.exists()) == ("", False)


async def test_a_move_onto_another_file_is_refused_without_asking(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask", answers={ASKING: allow()}) as session:
        old, taken = session.write_file("a.txt", "one\n"), session.write_file("sub/b.txt", "mine\n")
        updates = await session.run_one(call("patch", mode="patch", patch=PATCH))
        assert (updates.status, session.editor.asked(ASKING)) == ("failed", [])
        assert updates.text.startswith("sub/b.txt exists already")
        assert (old.read_text(), taken.read_text()) == ("one\n", "mine\n")


async def test_a_deceptive_name_is_shown_escaped(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("write_file", path="a\u202etxt.exe", content="x"))
        assert updates.title == "Create a\\u202etxt.exe"
