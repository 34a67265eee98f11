"""Sessions with MCP servers, over the wire: what the model is told and what its calls lead to."""

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import JsonValue

from acp_server.permissions.trust import TrustStore
from acp_server.session.ports.mcp import NO_SERVERS
from acp_server.skills.overview import UNTRUSTED
from tests.mcp.live_servers import server_program, wait_for_text
from tests.mcp.mcp_editor import LONG_START_SETTINGS, make_replies, open_mcp_editor
from tests.mcp.test_lives import running_processes
from tests.support.case_table import named_case
from tests.support.editor import json_at
from tests.support.messages_api import call, reply
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import PLAN_MODE_IS_ON, SERVER_OF_UNTRUSTED_WORKSPACE

COMPLETE = "elicitation/complete"
GREET = "mcp:s:greet"
HANGING_SECONDS = 30
"""When a server that hangs is given up, which nobody waits for."""


def types(content: JsonValue) -> list[JsonValue]:
    """The types of a result's blocks."""
    return [json_at(each, "type") for each in cast("list[JsonValue]", content)]


async def test_calls_and_questions_go_between_the_server_the_user_and_the_model(
    tmp_path: Path,
) -> None:
    server_log = tmp_path / "told"
    script = [
        *(reply(call("s__echo", text="hello"), call("s__show")), "Done."),
        *(reply(call("s__ask")), "Done."),
        *(reply(call("s__wipe")), "Done."),
    ]
    async with open_mcp_editor(tmp_path, script) as line:
        session = await line.open(server_program("s", environment={"TOLD": str(server_log)}))
        with named_case("a call is sent to the server and its result to the model"):
            assert await line.prompt(session) == "end_turn"
            assert [name for name in line.tool_names() if "__" in name][:2] == ["s__echo", "s__env"]
            echo, shown = line.tool_results()
            assert "hello" in json.dumps(echo)
            assert types(shown) == ["text", "image"]
            titles = [json_at(each, "params", "toolCall", "title") for each in line.questions]
            assert sorted(map(str, titles)) == ["s: echo", "s: show"]
        with named_case("an elicitation reaches the user and names the server"):
            line.form_values = {"name": "Ada"}
            await line.prompt(session)
            asked = line.questions[-1]
            assert asked["method"] == "elicitation/create"
            message = str(json_at(asked, "params", "message"))
            assert message.startswith("The MCP server “s” asks: Who?")
            assert "Ada" in json.dumps(line.tool_results())
        with named_case("a call denied by the user never reaches the server"):
            line.answer = "reject_once"
            line.questions.clear()
            assert await line.prompt(session) == "end_turn"
            assert len(line.questions) == 1
            assert "call echo" in server_log.read_text()
            assert "call wipe" not in server_log.read_text()


async def test_plan_mode_keeps_the_tools_and_refuses_all_but_read_only_ones(
    tmp_path: Path,
) -> None:
    asked = {"s__echo": 1, "s__env": 0, "s__wipe": 0}
    script = [turn for tool in asked for turn in (reply(call(tool)), "Done.")]
    async with open_mcp_editor(tmp_path, script, options={"--mode": "plan"}) as line:
        session = await line.open(server_program("s"))
        for tool, count in asked.items():
            with named_case(tool):
                line.questions.clear()
                assert await line.prompt(session) == "end_turn"
                assert tool in line.tool_names(0)
                assert len(line.questions) == count
                assert (PLAN_MODE_IS_ON in json.dumps(line.tool_results())) == (count == 0)


async def test_a_server_is_connecting_at_first_and_a_request_waits_no_longer_than_configured(
    tmp_path: Path,
) -> None:
    async with open_mcp_editor(
        tmp_path, make_replies(3), settings="mcp: {startup_wait_seconds: 0.2}"
    ) as line:
        session = await line.open(server_program("stuck", "hangs"))
        page = await line.run_command(session, "/mcp")
        assert re.search(r"\): connecting for \d+ s \(timeout: 30 s\)", page)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await line.prompt(session) == "end_turn"
        assert not any("__" in name for name in line.tool_names())
        page = await line.run_command(session, "/mcp")
        assert "**stuck** (process `python" in page
        assert re.search(r"\): connecting for \d+ s \(timeout: 30 s\)", page)


@pytest.mark.full
async def test_by_default_a_session_waits_for_no_server_and_its_first_call_three_seconds(
    tmp_path: Path,
) -> None:
    async with open_mcp_editor(tmp_path, make_replies(6), settings="") as line:
        times = [anyio.current_time()]
        session = await line.open(server_program("stuck", "hangs"))
        times.append(anyio.current_time())
        for _ in range(6):
            await line.prompt(session)
            times.append(anyio.current_time())
        opening, first, *later = (after - before for before, after in pairwise(times))
        assert opening < HANGING_SECONDS
        assert 3 <= first < HANGING_SECONDS
        assert min(later) < 3  # at best, for the machine may be slow; none waits if one does not


async def test_the_user_is_told_once_of_a_server_that_does_not_start(tmp_path: Path) -> None:
    async with open_mcp_editor(tmp_path, make_replies(2)) as line:
        session = await line.open(server_program("broken", "leaves-at-once"), server_program("s"))
        texts = [await line.run_command(session, each) for each in ("go", "go again")]
        assert "s__echo" in line.tool_names()

    assert ["no configuration found" in text for text in texts] == [True, False]


async def test_garbage_and_conflicting_names_leave_a_session_with_usable_tools(
    tmp_path: Path,
) -> None:
    calls = [call("g__echo", text="clear"), call("c__a_b"), call("c__read_file")]
    async with open_mcp_editor(tmp_path, [reply(*calls), "Done."]) as line:
        session = await line.open(
            server_program("g", "prints-garbage"), server_program("c", "clashes")
        )
        assert await line.prompt(session) == "end_turn"
        names = line.tool_names()
        assert len(set(names)) == len(names)
        assert len([name for name in names if name.startswith("c__")]) == 5
        results = list(map(json.dumps, line.tool_results()))
        assert ["clear" in results[0], *("done" in each for each in results[1:])] == [True] * 3
        page = await line.run_command(session, "/mcp")
        assert "starting up, please wait…" in page
        assert "skipped: a_b: its name is missing, too long or already used" in page


async def test_late_servers_are_reported_and_added_at_a_rebuild(tmp_path: Path) -> None:
    async with open_mcp_editor(
        tmp_path, make_replies(3), settings="mcp: {startup_wait_seconds: 0}"
    ) as line:
        go = tmp_path / "go"
        session = await line.open(server_program("s", "waits", environment={"GO": str(go)}))
        await line.prompt(session)
        before = line.tool_names()
        go.touch()
        await line.run_command_until(session, "/mcp", "): connected")
        await line.prompt(session)
        assert line.tool_names() == before
        assert '[The tools of the MCP server "s" are others now (new or changed: ' in (
            line.prompt_text()
        )
        await line.run_command(session, "/reload")
        await line.prompt(session)
        assert next(name for name in line.tool_names() if name not in before) == "s__echo"
        assert "[The" not in line.prompt_text()


async def test_servers_of_the_request_override_those_of_the_settings(tmp_path: Path) -> None:
    requested = server_program("s")
    entry = json.dumps({"command": requested.command, "args": [*requested.args, "some"]})
    off = "{command: x, enabled: false}"
    settings = f"{LONG_START_SETTINGS}mcp_servers: {{s: {entry}, other: {entry}, off: {off}}}"
    async with open_mcp_editor(tmp_path, make_replies(2), settings=settings) as line:
        session = await line.open(requested)
        page = await line.run_command_until(session, "/mcp", "23 tools")
        assert [part.split("**")[1] for part in page.split("\n\n")] == ["s", "other"]
        await line.prompt(session)
        names = {name.split("__")[0] for name in line.tool_names() if "__" in name}
        assert names == {"s", "other"}
        assert "s__echo" in line.tool_names()

        plain = await line.open()
        await line.prompt(plain)
        assert {"s__tool_0", "other__tool_0"} < set(line.tool_names())


async def test_an_mcp_prompt_becomes_a_slash_command(tmp_path: Path) -> None:
    async with open_mcp_editor(tmp_path, make_replies(2)) as line:
        session = await line.open(server_program("s"))
        await line.run_command_until(session, "/mcp", "1 prompt")
        await line.editor.wait_for_response(
            lambda message: "available_commands_update" in str(message) and GREET in str(message)
        )
        listed = [
            json_at(command, "name")
            for update in line.editor.updates_of(session)
            if json_at(update, "sessionUpdate") == "available_commands_update"
            for command in cast("list[JsonValue]", json_at(update, "availableCommands"))
        ]
        assert GREET in listed
        assert "needs whom" in await line.run_command(session, "/mcp:s:greet")
        assert await line.prompt(session, "/mcp:s:greet Ada") == "end_turn"
        assert line.prompt_text().startswith("Greet {'whom': 'Ada'}.")


async def test_a_completed_url_elicitation_is_notified_once_under_its_id(
    tmp_path: Path,
) -> None:
    script = [reply(call("s__page")), "Done."]
    async with open_mcp_editor(tmp_path, script, capabilities={"elicitation": {"url": {}}}) as line:
        session = await line.open(server_program("s"))
        await line.prompt(session)
        asked = line.questions[-1]
        assert json_at(asked, "params", "url") == "https://example.com/sign-in"
        await line.editor.wait_for_response(lambda message: message.get("method") == COMPLETE)
        await line.editor.call("session/close", {"sessionId": session})
        params = [json_at(m, "params") for m in line.editor.messages if m.get("method") == COMPLETE]
        assert params == [{"elicitationId": json_at(asked, "params", "elicitationId")}]


async def test_an_editor_without_forms_gets_no_elicitations(tmp_path: Path) -> None:
    script = [reply(call("s__ask")), "Done."]
    async with open_mcp_editor(tmp_path, script, capabilities={}) as line:
        session = await line.open(server_program("s"))
        await line.prompt(session)
        assert [each["method"] for each in line.questions] == ["session/request_permission"]
        assert "not supported" in json.dumps(line.tool_results())


async def test_a_session_has_its_own_processes_that_end_with_it(tmp_path: Path) -> None:
    logs = [tmp_path / "one", tmp_path / "two"]
    async with open_mcp_editor(tmp_path, make_replies(2)) as line:
        one, two = [
            await line.open(server_program("s", environment={"TOLD": str(f)})) for f in logs
        ]
        for session in (one, two):
            await line.run_command_until(session, "/mcp", "): connected")
        assert [len(running_processes(each)) for each in logs] == [1, 1]
        await line.editor.call("session/close", {"sessionId": one})
        assert [len(running_processes(each)) for each in logs] == [0, 1]
    await wait_for_text(lambda: str([len(running_processes(each)) for each in logs]), "[0, 0]")


async def test_a_loaded_session_has_the_servers_of_the_new_request(tmp_path: Path) -> None:
    server_log = tmp_path / "told"
    async with open_mcp_editor(tmp_path, make_replies(4)) as line:
        session = await line.open(server_program("s", environment={"TOLD": str(server_log)}))
        await line.prompt(session)
        await line.run_command_until(session, "/mcp", "): connected")
        answer = await line.editor.call(
            "session/resume", {"sessionId": session, "cwd": str(line.directory)}
        )
        assert "result" in answer
        assert running_processes(server_log) == []
        assert await line.run_command(session, "/mcp") == NO_SERVERS
        assert "s__echo" in line.tool_names()
        await line.prompt(session)
        assert "s__echo" not in line.tool_names()


PROJECT = """---
mcp_servers:
  own:
    command: {command}
    args: {args}
    env: {{TOLD: {told}}}
---
Be kind.
"""


@pytest.mark.parametrize("is_trusted", [True, False])
async def test_workspace_servers_are_started_only_if_the_workspace_is_trusted(
    tmp_path: Path, *, is_trusted: bool
) -> None:
    log, server = tmp_path / "told", server_program("own")
    (tmp_path / "root").mkdir()
    text = PROJECT.format(command=server.command, args=json.dumps([*server.args]), told=log)
    (tmp_path / "root" / ".hermes.md").write_text(text)
    async with open_mcp_editor(tmp_path, make_replies(3)) as line:
        line.form_values = {"trust": is_trusted}
        session = await line.open()
        assert await line.prompt(session) == "end_turn"
        assert "the MCP server own (runs " in str(json_at(line.questions[0], "params", "message"))
        assert ("own__echo" in line.tool_names()) == is_trusted == log.exists()
        page = await line.run_command(session, "/mcp")
        assert (SERVER_OF_UNTRUSTED_WORKSPACE in page) != is_trusted

        TrustStore(tmp_path / "home/acp/trust.json").save(line.directory, "trusted")
        assert ("apply from now on" in await line.run_command(session, "go on")) != is_trusted
        assert "own__echo" in line.tool_names()
        assert [each["method"] for each in line.questions] == ["elicitation/create"]


async def test_a_trusted_project_may_restrict_tools_to_those_of_its_own_servers(
    tmp_path: Path,
) -> None:
    own = server_program("own")
    (tmp_path / "root").mkdir()
    text = PROJECT.format(command=own.command, args=json.dumps([*own.args]), told=tmp_path / "told")
    narrow = text.replace("---\n", "---\ntools: [read_file, own__echo, own__grown]\n", 1)
    (tmp_path / "root" / ".hermes.md").write_text(narrow)
    async with open_mcp_editor(tmp_path, make_replies(1)) as line:
        line.form_values = {"trust": True}
        session = await line.open()
        await line.prompt(session)
        assert line.tool_names() == ["read_file", "own__echo"]
        assert "not used" not in line.editor.agent_text(session)


async def test_skills_that_require_a_server_are_shown_with_it(tmp_path: Path) -> None:
    skill = tmp_path / "home/skills/greeter/SKILL.md"
    skill.parent.mkdir(parents=True)
    condition = "metadata: {hermes: {requires_toolsets: [mcp-s]}}"
    skill.write_text(f"---\nname: greeter\ndescription: Greets.\n{condition}\n---\nGreet.")
    async with open_mcp_editor(tmp_path, make_replies(2)) as line:
        bare, served = await line.open(), await line.open(server_program("s"))
        for session in (bare, served):
            await line.prompt(session)
        assert "- `greeter`: it needs the toolset mcp-s" in await line.run_command(bare, "/skills")
        assert "- `greeter` (general, home): Greets." in await line.run_command(served, "/skills")


async def test_untrusted_servers_are_not_started_and_this_is_reported(tmp_path: Path) -> None:
    skill_file = tmp_path / "root/.agents/skills/mine/SKILL.md"
    skill_file.parent.mkdir(parents=True)
    skill_file.write_text("---\nname: mine\ndescription: Mine.\n---\nDo it.")
    async with open_mcp_editor(tmp_path) as line:
        session = await line.open()
        assert f"**{UNTRUSTED}**\n\n- `mine`" in await line.run_command(session, "/skills")
        TrustStore(tmp_path / "home/acp/trust.json").save(line.directory, "trusted")
        assert "- `mine` (general, workspace): Mine." in await line.run_command(session, "/skills")
