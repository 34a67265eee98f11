"""`search_files` as the model and the client get it; what no search may find."""

from pathlib import Path

import pytest

from acp_server.permissions.modes import Mode
from acp_server.tools.symbols.enclosing import MAX_FILE_BYTES, MAX_FILES
from tests.support.case_table import named_case
from tests.support.editor import json_at
from tests.tools.editor_session import ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call


def create_files(session: ToolEditorSession) -> None:
    session.write_file("src/a.py", "x = 1\nneedle = 2\n")
    session.write_file("src/b.txt", "needle\n")
    session.write_file(".env", "needle=do-not-tell\n")
    session.write_file("server.pem", "needle do-not-tell\n")
    session.write_file("private/notes.txt", "needle do-not-tell\n")
    session.write_file(".hermesignore", "private/\n")


async def test_hits_are_reported_with_their_locations(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        tool_call = call("search_files", pattern="needle", path="src", file_glob="*.py")
        updates = await session.run_one(tool_call)
        assert updates.statuses == ["pending", "in_progress", "completed"]
        assert updates.title == "Search `needle` in src: 1 found"
        assert updates.locations == [{"path": str(session.root / "src/a.py"), "line": 2}]
        assert "needle = 2" in updates.text


async def test_an_empty_search_result_names_the_searched_path(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        updates = await session.run_one(call("search_files", pattern="haystack"))
        assert updates.status == "completed"
        assert updates.title == "Search `haystack`: nothing"
        assert updates.locations == [{"path": str(session.root)}]


async def test_files_are_found_by_name(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        updates = await session.run_one(call("search_files", target="files", pattern="*.py"))
        assert updates.text.splitlines()[0] == "src/a.py"
        assert json_at(updates.locations, 0, "path") == str(session.root / "src/a.py")


@pytest.mark.parametrize("mode", ["ask", "plan", "accept_edits"])
async def test_no_search_returns_a_secret(tmp_path: Path, mode: Mode) -> None:
    async with open_tool_editor(tmp_path, mode=mode) as session:
        create_files(session)
        for output in ("content", "files_only", "count"):
            with named_case(output):
                search = call("search_files", pattern="needle", output_mode=output, context=2)
                updates = await session.run_one(search)
                assert updates.status == "completed"
                assert "b.txt" in updates.text
                assert not session.editor.requests
                for hidden in ("do-not-tell", ".env", ".pem", "notes.txt"):
                    assert hidden not in str(updates)


async def test_bypass_mode_searches_everything(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        updates = await session.run_one(call("search_files", pattern="do-not-tell"))
        for found in (".env", "server.pem", "private/notes.txt"):
            assert found in updates.text


@pytest.mark.parametrize("pattern", ["x" * 100_000, "a\0b"], ids=["a huge one", "one with a NUL"])
async def test_an_invalid_pattern_is_a_failed_call(tmp_path: Path, pattern: str) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        updates = await session.run_one(call("search_files", pattern=pattern))
        assert len(updates.title) < 350
        assert len(updates.text) < 1_000
        assert updates.status == "failed"


async def test_lines_of_small_source_files_are_shown_with_what_they_are_in(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        method = (
            "class A:\n    def m(self):\n        needle = 1\n        needle = 1\n        needle()\n"
        )
        session.write_file("src/in_class.py", method)
        session.write_file("src/large.py", f"def f():\n    needle = 1\n# {'x' * MAX_FILE_BYTES}\n")
        session.write_file("src/broken.py", b"def f(\xff:\n    needle\n")
        updates = await session.run_one(call("search_files", pattern="needle", path="src"))
        assert updates.text.splitlines() == [
            *("src/a.py", "2:needle = 2", "src/b.txt", "1:needle", "src/broken.py", "2:    needle"),
            *("src/in_class.py", "[in A.m]", "3,4:        needle = 1", "5:        needle()"),
            *("src/large.py", "2:    needle = 1"),
        ]
        with_context = call("search_files", pattern="needle", path="src/in_class.py", context=1)
        assert "[in A.m]" not in (await session.run_one(with_context)).text


async def test_what_is_parsed_for_a_search_is_bounded(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for number in range(MAX_FILES + 2):
            session.write_file(f"f{number}.py", "def f():\n    needle\n")
        updates = await session.run_one(call("search_files", pattern="needle"))
        assert updates.text.count("[in f]") == MAX_FILES
