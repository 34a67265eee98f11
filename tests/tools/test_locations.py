"""The files and lines that calls name, for editors that follow the agent."""

from pathlib import Path

from tests.tools.editor_session import open_tool_editor
from tests.tools.typing_model import call

PATCH = """\
*** Begin Patch
*** Update File: a.py
@@
 two
-3
+33
*** Add File: z.py
+hi
*** End Patch"""


async def test_every_read_and_edit_names_its_first_line(tmp_path: Path) -> None:
    calls = [
        (call("read_file", path="a.py"), [("a.py", 1)]),
        (call("read_file", path="a.py", offset=3), [("a.py", 3)]),
        (call("patch", path="a.py", old_string="three", new_string="3"), [("a.py", 3)]),
        (call("write_file", path="a.py", content="one\ntwo\n3\n5\n"), [("a.py", 4)]),
        (call("write_file", path="new.py", content="x\ny\n"), [("new.py", 1)]),
        (call("patch", mode="patch", patch=PATCH), [("a.py", 3), ("z.py", 1)]),
        (call("search_files", pattern="33"), [("a.py", 3)]),
    ]
    async with open_tool_editor(tmp_path) as session:
        session.write_seen_file("a.py", "one\ntwo\nthree\nfour\n")
        found = await session.run(*(each for each, _ in calls))
        for updates, (_, expected) in zip(found, calls, strict=True):
            assert updates.status == "completed", updates.shown_text
            assert updates.locations == [
                {"path": str(session.root / name), "line": line} for name, line in expected
            ]
