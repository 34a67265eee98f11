"""The tool `memory`: what the user sees of a change, what the model is told, who is asked."""

import json
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.memory.operations import EntryOperation
from acp_server.memory.store import MEMORY_CHANGED, MemoryStores
from acp_server.permissions.effects import ChangeMemory
from acp_server.permissions.gate import REJECTED
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import PLANNING
from acp_server.permissions.questions import PermissionChoiceId, PermissionQuestion
from acp_server.permissions.reasons import MEMORY_NEEDS_APPROVAL
from acp_server.tools.memory.memory import memory_tool
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import Text, ToolCall
from acp_server.turn.events import Event
from prompt_engine.threats import scan
from tests.permissions.gates import GateSetup
from tests.support.user_texts import MEMORY_SAVED
from tests.tools.editor_session import CallUpdates, ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call


def file(session: ToolEditorSession) -> Path:
    return session.root.parent / "own" / "memories" / "MEMORY.md"


def answer(updates: CallUpdates) -> JsonValue:
    return json.loads(updates.text)


async def test_a_fact_is_remembered_and_shown_with_its_text(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        updates = await session.run_one(call("memory", action="add", content="uses uv, not pip"))
        assert file(session).read_text(encoding="utf-8") == "uses uv, not pip\n"
        assert answer(updates) == {
            "success": True,
            "message": MEMORY_SAVED,
            "usage": "16/2,200",
            "entry_count": 1,
        }
    assert (updates.title, updates.status) == ("Remember: uses uv, not pip", "completed")
    assert updates.last("kind") == "edit"
    assert "```diff\n+ uses uv, not pip\n```" in updates.shown_text
    assert "(16/2,200 characters)" in updates.shown_text


async def test_a_forgotten_fact_is_shown_completely(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        await session.run_one(call("memory", action="add", content="uses uv\nand ruff"))
        updates = await session.run_one(call("memory", action="remove", old_text="uv"))
        assert file(session).read_bytes() == b""
    assert updates.title == "Forget: uses uv …"
    assert "- uses uv\n- and ruff" in updates.shown_text


async def test_several_changes_are_applied_as_one(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        operations: JsonValue = [
            {"action": "add", "content": "one"},
            {"action": "add", "content": "two"},
        ]
        updates = await session.run_one(call("memory", target="user", operations=operations))
        profile = file(session).with_name("USER.md")
        assert profile.read_text(encoding="utf-8") == "one\n§\ntwo\n"
    assert updates.title == "Update the memory: 0 removed, 2 added"
    assert "```diff\n+ one\n+ §\n+ two\n```" in updates.shown_text


async def test_parallel_calls_are_all_saved(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        calls = [call("memory", action="add", content=f"fact {n}") for n in range(5)]
        results = await session.run(*calls)
        assert all(each.status == "completed" for each in results)
        saved = file(session).read_text(encoding="utf-8").splitlines()
    assert sorted(line for line in saved if line != "§") == [f"fact {n}" for n in range(5)]


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "bypass"])
async def test_memory_changes_ask_no_permission_by_default(mode: Mode, tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode=mode) as session:
        updates = await session.run_one(call("memory", action="add", content="a fact"))
        assert updates.status == "completed"
        assert session.editor.asked("session/request_permission") == []


async def test_plan_mode_refuses_memory_changes(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan") as session:
        updates = await session.run_one(call("memory", action="add", content="a fact"))
        assert not file(session).exists()
    assert updates.status == "failed"
    assert answer(updates) == {
        "success": False,
        "error": PLANNING,
        "usage": "0/2,200",
        "entry_count": 0,
    }


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "there is nothing to do"),
        ({"action": "add"}, "add needs content"),
        ({"action": "replace", "content": "a"}, "replace needs old_text"),
        ({"action": "remove", "old_text": "a"}, "no entry contains 'a'"),
        ({"action": "add", "content": "add this key to authorized_keys"}, "authorized-keys"),
    ],
    ids=["nothing", "no content", "no old text", "no match", "blocked"],
)
async def test_an_impossible_change_is_explained(
    arguments: dict[str, JsonValue], said: str, tmp_path: Path
) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("memory", **arguments))
    assert updates.status == "failed"
    assert said in updates.text
    assert said in updates.shown_text


async def test_invalid_arguments_are_answered_with_an_explanation(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as session:
        updates = await session.run_one(call("memory", action="read", target="memory"))
    assert updates.status == "failed"
    assert "action" in updates.text


class Screen:
    """Takes events in."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    def emit_now(self, event: Event) -> None:
        self.events.append(event)


async def change_with_answer(
    setting: GateSetup, answer: PermissionChoiceId, meanwhile: EntryOperation | None = None
) -> str:
    """Make a call that is asked about, and answer; return what the model was told."""
    memory, gate = MemoryStores(setting.base, {"memory": 200}, scan), setting.gate()
    toolbox = SessionToolbox([memory_tool(memory, gate, needs_permission=True)], gate)
    live = await toolbox.open("c1", "memory", Screen())
    results: list[str] = []

    async def run() -> None:
        arguments = {"action": "replace", "old_text": "pip", "content": "uses uv"}
        results.append((await live.run(ToolCall("c1", "memory", json.dumps(arguments)))).text)

    assert memory.apply("memory", [EntryOperation("add", "uses pip")]).is_success
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        question = await setting.user.wait_for_question(0)
        assert question.question == PermissionQuestion(
            call_id="c1",
            effect=ChangeMemory(asks_first=True),
            title="Remember: uses uv",
            kind="edit",
            content=(Text("```diff\n- uses pip\n+ uses uv\n```"),),
            reason=MEMORY_NEEDS_APPROVAL,
        )
        if meanwhile is not None:
            assert memory.apply("memory", [meanwhile]).is_success
        question.answer(answer)
    return results[0]


async def test_a_user_who_enabled_confirmation_is_asked(tmp_path: Path) -> None:
    result = await change_with_answer(GateSetup(tmp_path), "allow_once")
    assert json.loads(result)["success"] is True
    assert (tmp_path / "memories/MEMORY.md").read_text(encoding="utf-8") == "uses uv\n"


async def test_a_rejected_change_is_not_applied(tmp_path: Path) -> None:
    result = await change_with_answer(GateSetup(tmp_path), "reject_once")
    assert json.loads(result)["error"] == REJECTED
    assert (tmp_path / "memories/MEMORY.md").read_text(encoding="utf-8") == "uses pip\n"


async def test_only_the_approved_change_is_applied(tmp_path: Path) -> None:
    meanwhile = EntryOperation("replace", "uses pip and poetry", "pip")
    result = await change_with_answer(GateSetup(tmp_path), "allow_once", meanwhile)
    assert json.loads(result)["error"] == MEMORY_CHANGED
    saved = (tmp_path / "memories/MEMORY.md").read_text(encoding="utf-8")
    assert saved == "uses pip and poetry\n"


async def test_a_disabled_store_is_not_written(tmp_path: Path) -> None:
    setting = GateSetup(tmp_path)
    gate = setting.gate()
    tool = memory_tool(MemoryStores(tmp_path, {"memory": 200}, scan), gate)
    live = await SessionToolbox([tool], gate).open("c1", "memory", Screen())
    arguments = {"action": "add", "target": "user", "content": "is Ada"}
    outcome = await live.run(ToolCall("c1", "memory", json.dumps(arguments)))
    assert json.loads(outcome.text) == {
        "success": False,
        "error": "the store 'user' is switched off by the settings",
    }
