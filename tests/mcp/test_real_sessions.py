"""Servers that others have written, in sessions, over the whole wire: editor, server, model."""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from acp_server.session.ports.mcp_configs import HttpServerConfig, ServerConfig, StdioServerConfig
from tests.mcp.live_servers import wait_for_text
from tests.mcp.mcp_editor import McpEditor, open_mcp_editor
from tests.mcp.test_real_servers import (
    EVERYTHING,
    FILESYSTEM,
    everything,
    free_port,
    listening,
    node,
    script,
)
from tests.support.editor import json_at
from tests.support.messages_api import ScriptedTurn, call, reply

LONG = "e__trigger-long-running-operation"


def process_groups(package: str) -> set[int]:
    """The process groups of a package's servers below us: node may be a wrapper and its child."""
    groups: set[int] = set()
    for each in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess, ProcessLookupError):  # it ends while it is looked at
            if any(package in word for word in each.cmdline()):
                groups.add(os.getpgid(each.pid))
    return groups


def used() -> list[ScriptedTurn]:
    """What the model says in `use`: each kind of call, one that is cancelled, one behind it."""
    return [
        reply(
            call("e__echo", message="hello"),
            call("e__get-tiny-image"),
            call("e__trigger-elicitation-request"),
            call("e__get-sum", a="no number"),
        ),
        "Done.",
        reply(call(LONG, duration=60, steps=300)),
        reply(call("e__get-sum", a=2, b=3)),
        "Done.",
    ]


async def use(line: McpEditor, server: ServerConfig) -> str:
    """Use the server `everything` in a session as `used` says; return the session's id."""
    session = await line.open(server)
    line.form_values = {"name": "Ada"}
    assert await line.prompt(session) == "end_turn"
    echo, picture, filled, wrong = map(json.dumps, line.tool_results())
    assert "Echo: hello" in echo
    assert '"image/png"' in picture
    assert "Ada" in filled
    assert "MCP error -32602" in wrong or "nvalid" in wrong

    pending = line.editor.start_prompt(session, "take long")
    await line.editor.wait_for_response(lambda message: "of 300" in str(message))
    line.editor.cancel(session)
    assert json_at(await pending.response(), "result", "stopReason") == "cancelled"

    assert await line.prompt(session) == "end_turn"
    assert "is 5." in json.dumps(line.tool_results())
    return session


async def test_all_features_work_over_stdio_even_after_a_crash(tmp_path: Path) -> None:
    back: list[ScriptedTurn] = [reply(call("e__echo", message="back")), "Done."]
    async with open_mcp_editor(tmp_path, [*used(), *back]) as line:
        session = await use(line, everything("e"))
        (crashed,) = process_groups(EVERYTHING)
        os.killpg(crashed, signal.SIGKILL)
        await wait_for_text(lambda: str(process_groups(EVERYTHING) - {crashed} != set()), "True")
        await line.run_command_until(session, "/mcp", "): connected")
        assert await line.prompt(session) == "end_turn"
        assert "Echo: back" in json.dumps(line.tool_results())
        await line.editor.call("session/close", {"sessionId": session})
        assert process_groups(EVERYTHING) == set()


@pytest.mark.full
async def test_all_features_work_over_http(tmp_path: Path) -> None:
    port = free_port()
    with listening("streamableHttp", port):
        async with open_mcp_editor(tmp_path, used()) as line:
            await use(line, HttpServerConfig("e", f"http://127.0.0.1:{port}/mcp"))


@pytest.mark.full  # `test_sessions` has processes of sessions with a server that starts sooner
async def test_two_sessions_have_two_file_server_processes(tmp_path: Path) -> None:
    calls: list[ScriptedTurn] = []
    sessions: list[str] = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes.txt").write_text(f"the milk of {name}")
        calls += [reply(call("files__read_text_file", path="notes.txt")), "Done."]
    async with open_mcp_editor(tmp_path, calls) as line:
        for number, name in enumerate(("one", "two"), 1):
            folder = tmp_path / name
            server = StdioServerConfig("files", node(), (script(FILESYSTEM), str(folder)))
            session = await line.open(server, cwd=folder)
            await line.prompt(session)
            assert f"the milk of {name}" in json.dumps(line.tool_results())
            assert len(process_groups(FILESYSTEM)) == number
            sessions.append(session)
        await line.editor.call("session/close", {"sessionId": sessions[0]})
        assert len(process_groups(FILESYSTEM)) == 1
    assert process_groups(FILESYSTEM) == set()
