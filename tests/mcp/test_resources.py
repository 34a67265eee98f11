"""A server of the SDK: its resources, by mentions and by a tool, and its use of the model."""

import json
import sys
from pathlib import Path

from acp_server.session.ports.mcp_configs import StdioServerConfig
from tests.mcp.live_servers import PROGRAMS, server_program
from tests.mcp.mcp_editor import McpEditor, make_replies, open_mcp_editor
from tests.support.editor import json_at
from tests.support.messages_api import call, reply
from tests.support.user_texts import REJECTED_BY_USER, USER_DOES_NOT_PERMIT

TOOL = "read_mcp_resource"
ASKS_MODEL = "library: ask the model"


def library(name: str = "library") -> StdioServerConfig:
    return StdioServerConfig(name, sys.executable, (str(PROGRAMS / "sdk_server.py"),))


async def test_a_server_has_its_resources_read_and_asks_the_model_after_asking_the_user(
    tmp_path: Path,
) -> None:
    ask_model = reply(call("library__ask_model", question="Which shelf?"))
    script = [
        *(ask_model, "The third shelf.", "Done.", ask_model, "Done."),
        *make_replies(2),
        reply(call(TOOL), call(TOOL, server="library", uri="note://plan")),
        reply(call(TOOL, uri="picture://shed"), call(TOOL, server="nobody")),
        "Done.",
    ]
    async with open_mcp_editor(tmp_path, script) as line:
        session = await line.open(library(), server_program("s"))
        await require_that_the_server_asks_the_model(line, session)
        line.questions.clear()
        await line.prompt(
            session,
            "Do @library:note://plan, (@library:note://orders). Not @library:note://gone or "
            "@other:note://plan or me@library:note://a; @s:x has none.",
        )
        text = line.prompt_text()
        titles = [json_at(each, "params", "toolCall", "title") for each in line.questions]
        line.answer = "reject_once"
        await line.prompt(session, "And @library:note://plan?")
        refused = line.prompt_text()

        await require_that_the_model_reads(line, session)

    assert titles == [
        "library: note://plan",
        "library: note://orders",
        "library: note://gone",
    ]
    assert "Paint the shed green." in text
    assert "looks like an attempt to instruct you" in text
    assert "(@library:note://gone could not be read: " in text
    assert "note a" not in text
    assert f"(@library:note://plan was not read: {REJECTED_BY_USER}" in refused


async def require_that_the_server_asks_the_model(line: McpEditor, session: str) -> None:
    """Let a tool of the server ask the session's model, which the user allows, then refuses."""
    assert await line.prompt(session, "Find it.") == "end_turn"
    question = json_at(line.questions[1], "params", "toolCall")
    shown, request = json.dumps(question), line.api.model_requests[1].body
    (result,) = map(json.dumps, line.tool_results(2))

    line.refused_title = ASKS_MODEL
    before = len(line.api.model_requests)
    assert await line.prompt(session) == "end_turn"
    refused = json.dumps(line.tool_results()[-1])
    assert len(line.api.model_requests) == before + 2

    assert json_at(question, "title") == ASKS_MODEL
    assert "Instructions: You are a librarian." in shown
    assert "User: Which shelf?" in shown
    assert "tools" not in request
    assert "Which shelf?" in json.dumps(request["messages"])
    assert "Find it." not in json.dumps(request["messages"])
    assert "claude-opus-5-5: The third shelf." in result
    assert USER_DOES_NOT_PERMIT in refused


async def require_that_the_model_reads(line: McpEditor, session: str) -> None:
    """Have the model list and read resources, which the user allows for the session."""
    asked_before, requests_before = len(line.questions), len(line.api.model_requests)
    line.answer = "allow_session"
    assert await line.prompt(session) == "end_turn"
    assert TOOL in line.tool_names()
    listed, plan = map(json.dumps, line.tool_results(requests_before + 1)[-2:])
    picture, unknown = map(json.dumps, line.tool_results(requests_before + 2)[-2:])
    page = await line.run_command(session, "/mcp")

    assert "note://plan (The plan, text/plain" in listed
    assert "note://{name}" in listed
    assert "Paint the shed green." in plan
    assert "image/png" in picture
    assert "no MCP server 'nobody' with resources is connected" in unknown
    assert len(line.questions) == asked_before + 1  # "always" covers the resources of the server
    assert "1 tool, 0 prompts, resources" in page


async def test_the_tool_is_not_offered_with_a_server_that_has_no_resources(tmp_path: Path) -> None:
    async with open_mcp_editor(tmp_path, make_replies(1)) as line:
        session = await line.open(server_program("s"))
        await line.prompt(session)
        assert TOOL not in line.tool_names()
