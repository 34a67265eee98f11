"""What a client's views ask for: the MCP servers and the saved answers of a session, as data."""

from pathlib import Path
from typing import cast

import anyio
from pydantic import JsonValue

from tests.mcp.live_servers import POLL_SECONDS, server_program, wait_for_text
from tests.mcp.mcp_editor import LONG_START_SETTINGS, McpEditor, open_mcp_editor
from tests.mcp.test_lives import running_processes
from tests.support.editor import Object, json_at
from tests.support.messages_api import call, reply
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.editor_session import allow, open_tool_editor
from tests.tools.typing_model import call as tool_call
from tests.tools.typing_model import stream_call

PERMISSION_METHOD = "session/request_permission"


async def servers_of(line: McpEditor, session: str) -> list[Object]:
    answer = await line.editor.call("_hermes/mcp_servers", {"sessionId": session})
    return cast("list[Object]", json_at(answer, "result", "servers"))


async def server_in_state(line: McpEditor, session: str, state: str) -> Object:
    """Wait until the only server has this state."""
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        while True:
            (server,) = await servers_of(line, session)
            if server["state"] == state:
                return server
            await anyio.sleep(POLL_SECONDS)  # the process of the server signals no event


async def test_servers_are_listed_with_their_tools_and_restarted(tmp_path: Path) -> None:
    log = tmp_path / "told"
    script = [reply(call("s__echo", text="hi")), "Done."]
    async with open_mcp_editor(tmp_path, script, settings=LONG_START_SETTINGS) as line:
        session = await line.open(server_program("s", environment={"TOLD": str(log)}))
        server = await server_in_state(line, session, "connected")
        assert server["name"] == "s"
        assert server["problem"] == ""
        assert server["signedIn"] is False
        tools = cast("list[JsonValue]", server["tools"])
        assert {str(json_at(each, "name")) for each in tools} >= {"echo", "wipe"}
        old = running_processes(log)
        assert len(old) == 1
        params: Object = {"sessionId": session, "name": "s"}
        restarted = await line.editor.call("_hermes/restart_mcp_server", params)
        assert json_at(restarted, "result") == {}
        await wait_for_text(lambda: str(running_processes(log) not in ([], old)), "True")
        await server_in_state(line, session, "connected")
        assert await line.prompt(session) == "end_turn"
        assert "hi" in str(line.tool_results())


async def test_only_a_server_of_the_session_can_be_restarted(tmp_path: Path) -> None:
    async with open_mcp_editor(tmp_path, []) as line:
        session = await line.open()
        assert await servers_of(line, session) == []
        params: Object = {"sessionId": session, "name": "other"}
        answer = await line.editor.call("_hermes/restart_mcp_server", params)
        assert json_at(answer, "error", "code") == -32602
        unknown = await line.editor.call("_hermes/mcp_servers", {"sessionId": "none"})
        assert json_at(unknown, "error", "code") == -32002


async def test_saved_answers_are_listed_and_forgotten(tmp_path: Path) -> None:
    answers = {PERMISSION_METHOD: allow("allow_workspace")}
    async with open_tool_editor(tmp_path, mode="ask", answers=answers) as session:
        params: Object = {"sessionId": session.session_id}

        async def write(name: str) -> int:
            """Have a file written, and return how often the user was asked so far."""
            session.model.rounds = [
                list(stream_call(tool_call("write_file", path=name, content="x\n")))
            ]
            await session.editor.prompt(session.session_id, name)
            messages = session.editor.messages
            return sum(each.get("method") == PERMISSION_METHOD for each in messages)

        assert await write("a.txt") == 1
        assert await write("b.txt") == 1
        answer = await session.editor.call("_hermes/permission_rules", params)
        (rule,) = cast("list[Object]", json_at(answer, "result", "rules"))
        assert (rule["text"], rule["allowed"], rule["saved"]) == (
            "edits in this workspace",
            True,
            True,
        )
        for _ in range(2):  # what is forgotten already is no error
            forget = {**params, "id": rule["id"]}
            answer = await session.editor.call("_hermes/forget_permission_rule", forget)
            assert json_at(answer, "result") == {}
        answer = await session.editor.call("_hermes/permission_rules", params)
        assert json_at(answer, "result", "rules") == []
        assert await write("c.txt") == 2
