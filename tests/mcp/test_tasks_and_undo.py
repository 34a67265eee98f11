"""What calls of servers' tools have in common with ours: a task's are the task's, and undone."""

from pathlib import Path

from pydantic import JsonValue

from tests.mcp.live_servers import server_program
from tests.mcp.mcp_editor import open_mcp_editor
from tests.support.case_table import named_case
from tests.support.editor import json_at
from tests.support.messages_api import call, reply


async def test_a_request_of_a_sub_agent_names_its_task_and_a_denied_call_never_reaches_the_server(
    tmp_path: Path,
) -> None:
    server_log = tmp_path / "told"
    script = [
        reply(call("delegate_task", goal="try", toolsets=["mcp-s"])),
        reply(call("s__wipe")),
        "I may not.",
        "Done.",
    ]
    async with open_mcp_editor(tmp_path, script) as line:
        line.answer = "reject_once"
        session = await line.open(server_program("s", environment={"TOLD": str(server_log)}))
        assert await line.prompt(session) == "end_turn"
        (asked,) = line.questions
        parent: JsonValue = next(
            json_at(update, "toolCallId")
            for update in line.editor.updates_of(session)
            if json_at(update, "sessionUpdate") == "tool_call"
        )
        assert json_at(asked, "params", "toolCall", "title") == "s: Wipe it (task 1: try)"
        assert json_at(asked, "params", "toolCall", "_meta", "parentToolUseId") == parent
        assert "call wipe" not in server_log.read_text()


async def test_workspace_changes_made_by_an_mcp_tool_can_be_undone(tmp_path: Path) -> None:
    file = tmp_path / "root" / "a.txt"
    file.parent.mkdir()
    file.write_text("before\n")
    written = [reply(call("s__put", path=str(file), text="after\n")), "Written."]
    delegated = [reply(call("delegate_task", goal="write")), *written, "Done."]
    async with open_mcp_editor(tmp_path, [*written, *delegated]) as line:
        session = await line.open(server_program("s"))
        for author in ("the session", "a task"):
            with named_case(author):
                assert await line.prompt(session) == "end_turn"
                assert file.read_text() == "after\n"
                await line.run_command(session, "/undo")
                assert file.read_text() == "before\n"


async def test_plan_mode_applies_to_the_calls_of_a_sub_agent_too(tmp_path: Path) -> None:
    """The tool that says that it only reads is asked about, the others are refused."""
    server_log = tmp_path / "told"
    calls = [reply(call(tool)) for tool in ("s__echo", "s__wipe", "s__env")]
    script = [reply(call("delegate_task", goal="try")), *calls, "I tried.", "Done."]
    async with open_mcp_editor(tmp_path, script, options={"--mode": "plan"}) as line:
        line.answer = "reject_once"
        session = await line.open(server_program("s", environment={"TOLD": str(server_log)}))
        assert await line.prompt(session) == "end_turn"
        titles = [json_at(each, "params", "toolCall", "title") for each in line.questions]
        assert titles == ["s: echo (task 1: try)"]
        assert len(line.api.model_requests) == len(script)
        assert "call " not in server_log.read_text()
