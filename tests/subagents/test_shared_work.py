"""What tasks share with their session and with each other: files, instructions, the sandbox."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.permissions.modes import Mode
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.ports import ModelRequest, TextDelta
from tests.mcp.mcp_editor import open_mcp_editor
from tests.permissions.secret_workspace import (
    MARKER,
    create_secret_workspace,
    make_tool_config,
    open_tool_caller_with,
)
from tests.permissions.test_red_team_delegation import AttemptModel
from tests.subagents.task_scripts import (
    ALLOWED,
    Barrier,
    call_events,
    delegate_call,
    script_sub_agents,
    start_call,
    sub_agent_calls,
    text_events,
    wait_for_permission_request,
)
from tests.support.editor import Object
from tests.support.messages_api import call, reply
from tests.tools.confinement.sandbox_setup import needs_sandbox
from tests.tools.editor_session import open_tool_editor
from tests.tools.terminal.terminal_session import wait_until
from tests.tools.typing_model import call as made_call
from tests.tools.typing_model import make_pause

ENDED = "[A background command has ended"
MOST_LOOKS = 20
WAIT_FOR_GO = "while ! test -e go; do sleep 0.02; done; touch gone-$$"


@pytest.mark.parametrize("mode", ["bypass", "ask"])
async def test_two_tasks_can_edit_one_file(tmp_path: Path, mode: Mode) -> None:
    meeting, answered = Barrier(2), list[Object]()
    async with open_tool_editor(tmp_path, mode=mode) as session:
        file = session.write_file("a.txt", "one\ntwo\n")
        edits = {
            task: [
                [
                    meeting,
                    *call_events("patch", path="a.txt", old_string=task, new_string=task.upper()),
                ],
                text_events("Done."),
            ]
            for task in ("one", "two")
        }
        script_sub_agents(session, edits)
        tool_call = delegate_call("one", "two")
        turn = start_call(session, tool_call)
        for _ in range(2 if mode == "ask" else 0):
            question = await wait_for_permission_request(session, lambda each: each not in answered)
            answered.append(question)
            session.editor.reply(question, ALLOWED)
        await turn.response()
        assert file.read_text() == "ONE\nTWO\n"
        assert [updates.status for updates in sub_agent_calls(session, tool_call.id).values()] == [
            "completed"
        ] * 2
        assert session.updates_of(tool_call.id).text.count("Changed: a.txt.") == 2


async def test_of_two_tasks_editing_the_same_text_the_second_fails_to_match(
    tmp_path: Path,
) -> None:
    meeting = Barrier(2)
    async with open_tool_editor(tmp_path) as session:
        file = session.write_file("a.txt", "first\n")
        edit = [
            meeting,
            *call_events("patch", path="a.txt", old_string="first", new_string="second"),
        ]
        script_sub_agents(session, {task: [edit, text_events("Done.")] for task in ("one", "two")})
        tool_call = delegate_call("one", "two")
        await start_call(session, tool_call).response()
        assert file.read_text() == "second\n"
        statuses = [
            str(updates.status) for updates in sub_agent_calls(session, tool_call.id).values()
        ]
        assert sorted(statuses) == ["completed", "failed"]


async def test_directory_instructions_reach_the_task_that_touches_the_directory(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "root" / "sub"
    folder.mkdir(parents=True)
    (folder / "AGENTS.md").write_text("Always say moo.")
    (folder / "a.txt").write_text("alpha\n")
    script = [
        reply(call("delegate_task", goal="read it")),
        reply(call("read_file", path="sub/a.txt")),
        "It says alpha.",
        "Done.",
    ]
    async with open_mcp_editor(tmp_path, script) as line:
        session = await line.open()
        assert await line.prompt(session) == "end_turn"
        (read,) = line.tool_results(2)
        (delegated_result,) = line.tool_results(3)
    assert "Always say moo." in json.dumps(read)
    assert "Always say moo." not in json.dumps(delegated_result)


@needs_sandbox
async def test_task_commands_are_confined_like_those_of_the_session(tmp_path: Path) -> None:
    workspace, puppet = create_secret_workspace(tmp_path), AttemptModel()
    workspace.model = puppet
    confined = replace(
        make_tool_config(workspace), sandbox=SandboxConfig("workspace", temporary_directories=())
    )
    async with open_tool_caller_with(workspace, "bypass", confined) as caller:
        puppet.attempts = [
            ("terminal", {"command": f"echo x > {workspace.outside}/new"}),
            ("terminal", {"command": "cat ~/.ssh/id_rsa"}),
            ("terminal", {"command": "echo x > src/made"}),
        ]
        await caller.call("delegate_task", {"goal": "try"})
    assert [result.is_error for result in puppet.results] == [True, True, False]
    assert not any(MARKER in result.text for result in puppet.results)
    assert not (workspace.outside / "new").exists()
    assert (workspace.root / "src/made").read_text() == "x\n"


@needs_sandbox
async def test_a_task_asks_permission_to_leave_the_sandbox(tmp_path: Path) -> None:
    workspace, puppet = create_secret_workspace(tmp_path), AttemptModel()
    workspace.model = puppet
    confined = replace(
        make_tool_config(workspace), sandbox=SandboxConfig("workspace", temporary_directories=())
    )
    async with open_tool_caller_with(workspace, "accept_edits", confined) as caller:
        puppet.attempts = [("terminal", {"command": "ls", "unconfined": True})]
        await caller.call("delegate_task", {"goal": "try"}, call_id="parent")
        (question,) = caller.user.questions
    assert question.parent_id == "parent"
    assert "(task 1: try)" in question.title
    assert [result.is_error for result in puppet.results] == [True]


async def test_each_task_is_notified_only_of_its_own_background_commands(tmp_path: Path) -> None:
    """A task's ends are its own, and the session's do not get lost in a task."""
    async with open_tool_editor(tmp_path, mode="bypass") as session:
        await session.run_one(made_call("terminal", command=WAIT_FOR_GO, background=True))

        async def end_both() -> None:
            (session.root / "go").touch()
            await wait_until(lambda: len(list(session.root.glob("gone-*"))) == 2)

        look = [
            make_pause(0.02),
            *call_events("read_file", path="go"),
        ]  # the ends are seen some time later
        both = [
            [TextDelta("First."), *call_events("terminal", command=WAIT_FOR_GO, background=True)],
            [end_both, *call_events("read_file", path="go")],
            *[look] * MOST_LOOKS,
            text_events("Done."),
        ]
        script_sub_agents(session, {"part": both})
        turn = start_call(session, delegate_call("part"))
        await turn.response()
        notices = [
            [text for text in texts_of(each) if ENDED in text] for each in session.model.requests
        ]
        tasks = [notices[n] for n, each in enumerate(session.model.requests) if is_of_task(each)]
        assert [len(tasks[-1]), len(notices[-1])] == [1, 1]
        assert tasks[-1] != notices[-1]


def texts_of(request: ModelRequest) -> list[str]:
    """Return what a model was told besides the results of its calls."""
    messages = [each for each in request.messages if isinstance(each, UserMessage)]
    return [part.text for each in messages for part in each.parts if isinstance(part, Text)]


def is_of_task(request: ModelRequest) -> bool:
    return texts_of(request)[0].startswith("part")
