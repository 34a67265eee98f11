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
from acp_server.permissions.policy import MEMORY_NEEDS_APPROVAL, PLANNING
from acp_server.permissions.questions import PermissionChoiceId, PermissionQuestion
from acp_server.tools.memory.memory import memory_tool
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import Text, ToolCall
from acp_server.turn.events import Event
from prompt_engine.threats import scan
from tests.permissions.gates import GateSetup
from tests.tools.editor_session import CallUpdates, ToolEditorSession, open_tool_editor
from tests.tools.typing_model import call


def file(room: ToolEditorSession) -> Path:
    return room.root.parent / "own" / "memories" / "MEMORY.md"


def answer(told: CallUpdates) -> JsonValue:
    return json.loads(told.text)


async def test_a_fact_is_remembered_and_shown_with_its_text(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as room:
        told = await room.run_one(call("memory", action="add", content="uses uv, not pip"))
        assert file(room).read_text(encoding="utf-8") == "uses uv, not pip\n"
        assert answer(told) == {
            "success": True,
            "message": "saved; the system prompt shows it from the next session on",
            "usage": "16/2,200",
            "entry_count": 1,
        }
    assert (told.title, told.status) == ("Remember: uses uv, not pip", "completed")
    assert told.last("kind") == "edit"
    assert "```diff\n+ uses uv, not pip\n```" in told.shown_text
    assert "(16/2,200 characters)" in told.shown_text


async def test_a_forgotten_fact_is_shown_completely(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as room:
        await room.run_one(call("memory", action="add", content="uses uv\nand ruff"))
        told = await room.run_one(call("memory", action="remove", old_text="uv"))
        assert file(room).read_bytes() == b""
    assert told.title == "Forget: uses uv …"
    assert "- uses uv\n- and ruff" in told.shown_text


async def test_several_changes_are_applied_as_one(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as room:
        operations: JsonValue = [
            {"action": "add", "content": "one"},
            {"action": "add", "content": "two"},
        ]
        told = await room.run_one(call("memory", target="user", operations=operations))
        profile = file(room).with_name("USER.md")
        assert profile.read_text(encoding="utf-8") == "one\n§\ntwo\n"
    assert told.title == "Update the memory: 0 removed, 2 added"
    assert "```diff\n+ one\n+ §\n+ two\n```" in told.shown_text


async def test_parallel_calls_are_all_saved(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as room:
        calls = [call("memory", action="add", content=f"fact {n}") for n in range(5)]
        told = await room.run(*calls)
        assert all(each.status == "completed" for each in told)
        kept = file(room).read_text(encoding="utf-8").splitlines()
    assert sorted(line for line in kept if line != "§") == [f"fact {n}" for n in range(5)]


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "bypass"])
async def test_memory_changes_ask_no_permission_by_default(mode: Mode, tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode=mode) as room:
        told = await room.run_one(call("memory", action="add", content="a fact"))
        assert told.status == "completed"
        assert room.editor.asked("session/request_permission") == []


async def test_plan_mode_refuses_memory_changes(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan") as room:
        told = await room.run_one(call("memory", action="add", content="a fact"))
        assert not file(room).exists()
    assert told.status == "failed"
    assert answer(told) == {
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
    async with open_tool_editor(tmp_path) as room:
        told = await room.run_one(call("memory", **arguments))
    assert told.status == "failed"
    assert said in told.text
    assert said in told.shown_text


async def test_invalid_arguments_are_answered_with_an_explanation(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path) as room:
        told = await room.run_one(call("memory", action="read", target="memory"))
    assert told.status == "failed"
    assert "action" in told.text


class Screen:
    """Takes events in."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def emit(self, event: Event) -> None:
        self.events.append(event)

    def emit_now(self, event: Event) -> None:
        self.events.append(event)


async def run_asked(
    setting: GateSetup, answer: PermissionChoiceId, meanwhile: EntryOperation | None = None
) -> str:
    """Make a call that is asked about, and answer; return what the model was told."""
    memory, gate = MemoryStores(setting.base, {"memory": 200}, scan), setting.gate()
    toolbox = SessionToolbox([memory_tool(memory, gate, needs_permission=True)], gate)
    live = await toolbox.open("c1", "memory", Screen())
    told: list[str] = []

    async def run() -> None:
        arguments = {"action": "replace", "old_text": "pip", "content": "uses uv"}
        told.append((await live.run(ToolCall("c1", "memory", json.dumps(arguments)))).text)

    assert memory.apply("memory", [EntryOperation("add", "uses pip")]).is_success
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        asked = await setting.user.wait_for_question(0)
        assert asked.question == PermissionQuestion(
            call_id="c1",
            effect=ChangeMemory(asks_first=True),
            title="Remember: uses uv",
            kind="edit",
            content=(Text("```diff\n- uses pip\n+ uses uv\n```"),),
            reason=MEMORY_NEEDS_APPROVAL,
        )
        if meanwhile is not None:
            assert memory.apply("memory", [meanwhile]).is_success
        asked.answer(answer)
    return told[0]


async def test_a_user_who_enabled_confirmation_is_asked(tmp_path: Path) -> None:
    told = await run_asked(GateSetup(tmp_path), "allow_once")
    assert json.loads(told)["success"] is True
    assert (tmp_path / "memories/MEMORY.md").read_text(encoding="utf-8") == "uses uv\n"


async def test_a_rejected_change_is_not_applied(tmp_path: Path) -> None:
    told = await run_asked(GateSetup(tmp_path), "reject_once")
    assert json.loads(told)["error"] == REJECTED
    assert (tmp_path / "memories/MEMORY.md").read_text(encoding="utf-8") == "uses pip\n"


async def test_only_the_approved_change_is_applied(tmp_path: Path) -> None:
    meanwhile = EntryOperation("replace", "uses pip and poetry", "pip")
    told = await run_asked(GateSetup(tmp_path), "allow_once", meanwhile)
    assert json.loads(told)["error"] == MEMORY_CHANGED
    kept = (tmp_path / "memories/MEMORY.md").read_text(encoding="utf-8")
    assert kept == "uses pip and poetry\n"


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
