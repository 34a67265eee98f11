"""`symbols` as the model and the client get it; what no call may find or change."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.permissions.modes import Mode
from tests.support.case_table import named_case
from tests.support.editor import json_at
from tests.support.user_texts import DOES_NOT_EXIST
from tests.tools.editor_session import Answer, ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call

ORDERS = """\
class Order:
    def total(self, tax):
        # total of the order
        return self.price * tax


def total():
    return 1
"""
SHOP = """\
from orders import Order, total

print(Order().total(2), total(), "total")
"""


def create_files(session: ToolEditorSession) -> None:
    session.write_file("src/orders.py", ORDERS)
    session.write_file("src/shop.py", SHOP)
    session.write_file("notes.md", "the total is here\n")
    session.write_file(".gitignore", "build/\n")
    session.write_file("build/orders.py", ORDERS)
    session.write_file(".hermesignore", "private/\n")
    session.write_file("private/orders.py", "def total(): 'do-not-tell'\n")


async def test_an_outline_shows_the_lines_that_define_something(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="outline", path="src/orders.py"))
        assert updates.statuses == ["pending", "in_progress", "completed"]
        assert updates.title == "Outline src/orders.py: 3 symbols"
        assert updates.text.splitlines() == [
            "1-4:class Order:",
            "2-4:    def total(self, tax):",
            "7-8:def total():",
        ]


async def test_an_outline_is_of_the_editors_text(tmp_path: Path) -> None:
    unsaved: JsonValue = {"content": "def unsaved(): ...\n"}
    answers: dict[str, Answer] = {"fs/read_text_file": lambda _: unsaved}
    async with open_tool_editor(
        tmp_path, capabilities={"fs": {"readTextFile": True}}, answers=answers
    ) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="outline", path="src/orders.py"))
        assert updates.text == "1:def unsaved(): ..."


WITHOUT_OUTLINE = {
    "notes.md": "has no known language: use read_file",
    "src": "has no known language",
    "pkg.py": "is a folder",
    "gone.py": DOES_NOT_EXIST,
    "": "give path",
}


async def test_what_cannot_be_outlined_is_refused_with_advice(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        session.write_file("pkg.py/__init__.py", "")
        for path, reason in WITHOUT_OUTLINE.items():
            with named_case(path):
                updates = await session.run_one(call("symbols", action="outline", path=path))
                assert updates.status == "failed"
                assert reason in updates.text


async def test_definitions_are_found_where_nothing_is_ignored_or_protected(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="definition", name="total"))
        assert updates.title == "Find the definition of `total`: 2 found"
        assert updates.text.splitlines() == [
            "src/orders.py:2-4 method Order.total",
            "2:    def total(self, tax):",
            "src/orders.py:7-8 function total",
            "7:def total():",
        ]
        lines = [json_at(updates.locations, number, "line") for number in range(2)]
        assert lines == [2, 7]


async def test_the_only_definition_is_shown_whole(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="definition", name="Order.total"))
        assert updates.text.splitlines() == [
            "src/orders.py:2-4 method Order.total",
            "2:    def total(self, tax):",
            "3:        # total of the order",
            "4:        return self.price * tax",
        ]


async def test_references_are_names_with_the_symbol_that_they_are_in(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        session.write_file("src/more.py", "class A:\n    def b(self):\n        total()\n")
        updates = await session.run_one(call("symbols", action="references", name="total"))
        assert updates.title == "Find references of `total`: 5 found"
        assert updates.text.splitlines() == [
            *("src/more.py", "[in A.b]", "3:        total()"),
            *("src/orders.py", "[in Order]", "2:    def total(self, tax):", "7:def total():"),
            *("src/shop.py", "1:from orders import Order, total"),
            '3:print(Order().total(2), total(), "total")',
            "[found by name, not by scope: check each place]",
        ]


async def test_a_rename_is_a_patch_that_changes_nothing_by_itself(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="accept_edits") as session:
        create_files(session)
        rename = call("symbols", action="rename", name="total", new_name="sum_up", path="src")
        updates = await session.run_one(rename)
        assert "5 places in 2 files" in updates.title
        assert (session.root / "src/orders.py").read_text() == ORDERS
        assert (session.root / "src/shop.py").read_text() == SHOP
        start = updates.text.index("*** Begin Patch")
        end = updates.text.index("*** End Patch") + len("*** End Patch")
        patch = call("patch", mode="patch", patch=updates.text[start:end])
        assert (await session.run_one(patch)).status == "completed"
        shop = 'from orders import Order, sum_up\n\nprint(Order().sum_up(2), sum_up(), "total")\n'
        assert (session.root / "src/shop.py").read_text() == shop
        assert "# total of the order" in (session.root / "src/orders.py").read_text()


async def test_a_rename_to_a_name_that_is_taken_says_so(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        rename = call("symbols", action="rename", name="total", new_name="price")
        updates = await session.run_one(rename)
        assert "[price is a name already in src/orders.py]" in updates.text


async def test_a_rename_takes_only_an_identifier(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        for new_name in ("", "two words", "1st", "a\nb", "*** End Patch"):
            with named_case(new_name):
                rename = call("symbols", action="rename", name="total", new_name=new_name)
                updates = await session.run_one(rename)
                assert updates.status == "failed"
                assert "give new_name" in updates.text


ACTIONS = ("definition", "references", "rename")


async def test_what_is_not_there_is_said_with_the_way_on(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        create_files(session)
        for action in ACTIONS:
            with named_case(action):
                updates = await session.run_one(
                    call("symbols", action=action, name="absent", new_name="other")
                )
                assert updates.status == "completed"
                assert "search_files finds it elsewhere" in updates.text


@pytest.mark.parametrize("mode", ["ask", "plan", "accept_edits"])
async def test_no_call_returns_a_secret(tmp_path: Path, mode: Mode) -> None:
    async with open_tool_editor(tmp_path, mode=mode) as session:
        create_files(session)
        outside = session.outside / "orders.py"
        outside.write_text("def total(): 'do-not-tell'\n", encoding="utf-8")
        (session.root / "src/link.py").symlink_to(outside)
        (session.root / "src/hidden.py").symlink_to(session.root / "private/orders.py")
        for action in ACTIONS:
            with named_case(action):
                updates = await session.run_one(
                    call("symbols", action=action, name="total", new_name="other")
                )
                assert updates.status == "completed"
                assert "src/orders.py" in updates.text
                assert not session.editor.requests
                for hidden in ("do-not-tell", "private", "link.py", "hidden.py"):
                    assert hidden not in updates.text


async def test_a_protected_file_is_asked_about_before_it_is_outlined(tmp_path: Path) -> None:
    refuse: JsonValue = {"outcome": {"outcome": "selected", "optionId": "reject_once"}}
    answers: dict[str, Answer] = {"session/request_permission": lambda _: refuse}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        create_files(session)
        updates = await session.run_one(call("symbols", action="outline", path="private/orders.py"))
        assert updates.status == "failed"
        assert "total" not in updates.text
        assert session.editor.asked("session/request_permission")
