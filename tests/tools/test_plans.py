"""`todo`: the list that the model keeps, and the plan that the client shows."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.support.editor import Object, json_at
from tests.tools.editor_session import ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call


def item(number: int, status: str = "pending") -> Object:
    return {"id": str(number), "content": f"step {number}", "status": status}


def entry(number: int, status: str = "pending") -> Object:
    return {"content": f"step {number}", "priority": "medium", "status": status}


def plans(session: ToolEditorSession) -> list[JsonValue]:
    updates = session.editor.updates_of(session.session_id)
    return [json_at(u, "entries") for u in updates if json_at(u, "sessionUpdate") == "plan"]


async def test_each_change_shows_the_whole_plan(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        for todos, is_merge in (
            ([item(1), item(2)], False),
            ([item(1, "completed"), item(3, "in_progress")], True),
            ([item(2, "cancelled")], True),
        ):
            updates = await session.run_one(call("todo", todos=[*todos], merge=is_merge))
            assert (updates.status, updates.title) == ("completed", "Update the plan")
        assert plans(session) == [
            [entry(1), entry(2)],
            [entry(1, "completed"), entry(2), entry(3, "in_progress")],
            [entry(1, "completed"), entry(3, "in_progress")],
        ]


async def test_reading_the_plan_changes_nothing_and_shows_cancelled_entries(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        await session.run(call("todo", todos=[item(1), item(2, "cancelled")]))
        updates = await session.run_one(call("todo"))
        assert updates.title == "Look at the plan"
        assert updates.text == (
            '{"id": "1", "content": "step 1", "status": "pending"}\n'
            '{"id": "2", "content": "step 2", "status": "cancelled"}'
        )
        assert len(plans(session)) == 1


async def test_the_plan_can_be_emptied(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        await session.run(call("todo", todos=[item(1)]))
        updates = await session.run_one(call("todo", todos=[]))
        assert updates.title == "Update the plan"
        assert plans(session) == [[entry(1)], []]


WRONG = [
    pytest.param([item(1, "urgent")], "`todos.0.status` must be 'pending'", id="a status"),
    pytest.param([{"id": "1"}], "`todos.0.content` is missing", id="no content"),
    pytest.param([{"id": "1", "content": ""}], "`todos.0.content` must", id="empty content"),
    pytest.param(5, "`todos` must be a list", id="no list"),
    pytest.param([5] * 500, "and 495 more", id="all of them"),
]


@pytest.mark.parametrize(("todos", "problem"), WRONG)
async def test_an_invalid_plan_fails_and_says_why(
    tmp_path: Path, todos: JsonValue, problem: str
) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("todo", todos=todos))
        assert updates.status == "failed"
        assert problem in updates.text
        assert len(updates.text) < 500
        assert plans(session) == []
