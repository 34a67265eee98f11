"""What tasks may not: more than their budget, other tools than they have, what lasts."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.subagents.task import TaskBudget, TaskBudgetError, TaskUsageTotals
from acp_server.subagents.toolsets import WITHHELD, UnknownToolsetError, tools_for
from acp_server.turn.events import Usage
from acp_server.turn.usage_totals import UsageTotals
from tests.subagents.task_scripts import call_events, delegate_call, script_sub_agents, text_events
from tests.support.editor import json_at
from tests.tools.editor_session import open_tool_editor
from tests.tools.typing_model import call

PRESENT = (
    *("read_file", "search_files", "write_file", "patch", "terminal", "process", "todo"),
    *("clarify", "exit_plan", "memory", "skills_list", "skill_view", "skill_manage"),
    *("github__search", "github__clarify", "web_fetch"),
)
SETS: dict[str, tuple[tuple[str, ...], set[str]]] = {
    "files": (("file",), {"read_file", "search_files", "write_file", "patch"}),
    "two": (("terminal", "web"), {"terminal", "process", "web_fetch"}),
    "skills are only read": (("skills",), {"skills_list", "skill_view"}),
    "those of a server": (("mcp-github",), {"github__search", "github__clarify"}),
    "all": (
        (),
        {*PRESENT} - {"clarify", "exit_plan", "memory", "skill_manage"},
    ),
}


@pytest.mark.parametrize(("wanted", "tools"), SETS.values(), ids=SETS.keys())
def test_toolsets_narrow_the_tools(wanted: tuple[str, ...], tools: set[str]) -> None:
    assert tools_for(wanted, PRESENT) == tools


@pytest.mark.parametrize("name", ["memory", "clarify", "delegation", "session_search", "mcp-x", ""])
def test_a_forbidden_toolset_is_answered_with_the_available_ones(name: str) -> None:
    with pytest.raises(UnknownToolsetError, match="file, terminal, web, skills, todo, mcp-github"):
        tools_for((name,), PRESENT)


async def test_an_unknown_toolset_starts_no_task(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(delegate_call("one", "two", toolsets=["browser"]))
        assert (updates.status, updates.text) == (
            "failed",
            "there is no toolset 'browser' for a task; there are file, terminal, web, skills, todo",
        )


WORDLESS: dict[str, dict[str, JsonValue]] = {
    "nothing": {},
    "an empty goal": {"goal": " "},
    "an empty task": {"tasks": [{"goal": "one"}, {"goal": ""}]},
}


@pytest.mark.parametrize("arguments", WORDLESS.values(), ids=WORDLESS.keys())
async def test_without_a_goal_no_task_starts(
    tmp_path: Path, arguments: dict[str, JsonValue]
) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("delegate_task", **arguments))
        assert (updates.status, updates.text) == (
            "failed",
            "delegate_task needs a goal, or tasks that each have a goal",
        )


async def test_no_task_starts_when_too_many_are_requested(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(delegate_call(*(f"task {number}" for number in range(21))))
        assert updates.status == "failed"
        assert "at most 20" in updates.text


@pytest.mark.parametrize("tool", sorted(WITHHELD))
async def test_withheld_tools_are_unknown_to_a_task(tmp_path: Path, tool: str) -> None:
    async with open_tool_editor(tmp_path) as session:
        script_sub_agents(
            session, {"try": [call_events(tool, goal="x", plan="x"), text_events("Tried.")]}
        )
        await session.run_one(delegate_call("try"))
        (result,) = session.model.requests[2].messages[-1].parts
        assert f"there is no tool '{tool}'" in at_text(result)
        assert "there are read_file" in at_text(result)


async def test_each_task_has_its_own_plan(tmp_path: Path) -> None:
    todos: list[JsonValue] = [{"id": "1", "content": "Look", "status": "in_progress"}]
    async with open_tool_editor(tmp_path) as session:
        script_sub_agents(
            session, {"plan": [call_events("todo", todos=todos), text_events("Planned.")]}
        )
        await session.run_one(delegate_call("plan"))
        updates = session.editor.updates_of(session.session_id)
        assert not any(json_at(each, "sessionUpdate") == "plan" for each in updates)


async def test_a_task_that_runs_out_of_calls_reports_its_progress(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        looks = [call_events("read_file", path=str(number)) for number in range(50)]
        script_sub_agents(session, {"dig": [*looks, text_events("I got half-way.")]})
        updates = await session.run_one(delegate_call("dig"))
        assert "Stopped (its 50 model calls are used up)" in updates.text
        assert updates.text.endswith("I got half-way.")


def test_a_budget_counts_output_and_uncached_input() -> None:
    session = UsageTotals()
    totals, budget = TaskUsageTotals(session=session), TaskBudget(max_tokens=100)
    totals.add(Usage(input_tokens=60, output_tokens=39, cache_read_tokens=10_000), 0.5)
    budget.check(totals)
    totals.add(Usage(cache_write_5m_tokens=1), None)
    with pytest.raises(TaskBudgetError, match="100 tokens are used up"):
        budget.check(totals)
    assert (session.requests, session.cost_usd, session.usage) == (2, 0.5, totals.usage)


def at_text(part: object) -> str:
    """Return the text of a result."""
    return str(getattr(part, "text", ""))
