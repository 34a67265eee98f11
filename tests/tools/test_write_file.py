"""`write_file`: texts with the line numbers of `read_file`, and the size in its result."""

from pathlib import Path

from acp_server.tools.edit.write_file import NUMBERED_CONTENT
from acp_server.tools.files.notebooks import CELL_MARK
from tests.tools.editor_session import open_tool_editor
from tests.tools.typing_model import call

FIVE = "a\nb\nc\nd\n"
NUMBERED = {
    "the last line": f"{FIVE}5|e",
    "one of six lines": f"{FIVE}5|e\nf\n",
    "two of ten lines": f"{FIVE}5|e\n{FIVE}10|j\n",
}
ORDINARY = {
    "another line": "a\nb\nc\n5|e\n",
    "another number": f"{FIVE}6|e\n",
    "one of two": f"{FIVE}5|e\n{FIVE}j\n",
    "one more": f"{FIVE}5|e\n6|f\n",
    "no number": f"{FIVE}e|5\n",
    "cells, but no notebook": f"{CELL_MARK} code\na = 1\n",
}


async def test_the_line_numbers_of_read_file_are_refused(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for content in NUMBERED.values():
            updates = await session.run_one(call("write_file", path="a.txt", content=content))
            assert updates.text == NUMBERED_CONTENT
            assert not (session.root / "a.txt").exists()


async def test_other_texts_are_written_as_they_are(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for number, content in enumerate(ORDINARY.values()):
            name = f"{number}.txt"
            updates = await session.run_one(call("write_file", path=name, content=content))
            assert (session.root / name).read_text() == content
            lines = content.count("\n")
            assert updates.text == f"created {name} ({lines} lines)"
        updates = await session.run_one(call("write_file", path="one.txt", content="one\n"))
        assert updates.text == "created one.txt (1 line)"
