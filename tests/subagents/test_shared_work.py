"""What tasks share with their session and with each other: files, instructions, the sandbox."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.permissions.modes import Mode
from acp_server.tools.shell.confinement.config import SandboxRules
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.ports import ModelRequest, TextDelta
from tests.mcp.mcp_editor import wired
from tests.permissions.secret_workspace import MARKER, acting_with, premises_of, set_up
from tests.permissions.test_red_team_delegation import Puppet
from tests.subagents.task_scripts import (
    ALLOWED,
    Meeting,
    begin,
    below,
    cast_for,
    delegated,
    question,
    say,
    use,
)
from tests.support.editor import Object
from tests.support.messages_api import call, reply
from tests.tools.confinement.sandbox_setup import needs_sandbox
from tests.tools.editor_session import open_workroom
from tests.tools.terminal.terminal_session import until
from tests.tools.typing_model import call as made_call
from tests.tools.typing_model import wait

ENDED = "[A background command has ended"
MOST_LOOKS = 20
UNTIL_TOLD = "while ! test -e go; do sleep 0.02; done; touch gone-$$"


@pytest.mark.parametrize("mode", ["bypass", "ask"])
async def test_two_tasks_that_edit_one_file_both_have_their_way(tmp_path: Path, mode: Mode) -> None:
    meeting, answered = Meeting(2), list[Object]()
    async with open_workroom(tmp_path, mode=mode) as room:
        file = room.put("a.txt", "one\ntwo\n")
        edits = {
            task: [
                [meeting, *use("patch", path="a.txt", old_string=task, new_string=task.upper())],
                say("Done."),
            ]
            for task in ("one", "two")
        }
        cast_for(room, edits)
        made = delegated("one", "two")
        turn = begin(room, made)
        for _ in range(2 if mode == "ask" else 0):
            asked = await question(room, lambda each: each not in answered)
            answered.append(asked)
            room.editor.reply(asked, ALLOWED)
        await turn.response()
        assert file.read_text() == "ONE\nTWO\n"
        assert [told.status for told in below(room, made.id).values()] == ["completed"] * 2
        assert room.told(made.id).text.count("Changed: a.txt.") == 2


async def test_of_two_tasks_that_want_the_same_words_changed_one_is_told_that_they_are_gone(
    tmp_path: Path,
) -> None:
    meeting = Meeting(2)
    async with open_workroom(tmp_path) as room:
        file = room.put("a.txt", "first\n")
        edit = [meeting, *use("patch", path="a.txt", old_string="first", new_string="second")]
        cast_for(room, {task: [edit, say("Done.")] for task in ("one", "two")})
        made = delegated("one", "two")
        await begin(room, made).response()
        assert file.read_text() == "second\n"
        statuses = [str(told.status) for told in below(room, made.id).values()]
        assert sorted(statuses) == ["completed", "failed"]


async def test_the_instructions_of_a_folder_reach_the_task_that_touches_it(tmp_path: Path) -> None:
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
    async with wired(tmp_path, script) as line:
        session = await line.open()
        assert await line.say(session) == "end_turn"
        (read,) = line.results(2)
        (delegated_result,) = line.results(3)
    assert "Always say moo." in json.dumps(read)
    assert "Always say moo." not in json.dumps(delegated_result)


@needs_sandbox
async def test_the_commands_of_a_task_are_confined_as_the_sessions_own(tmp_path: Path) -> None:
    stage, puppet = set_up(tmp_path), Puppet()
    stage.model = puppet
    confined = replace(premises_of(stage), sandbox=SandboxRules("workspace", temporary=()))
    async with acting_with(stage, "bypass", confined) as actor:
        puppet.attempts = [
            ("terminal", {"command": f"echo x > {stage.outside}/new"}),
            ("terminal", {"command": "cat ~/.ssh/id_rsa"}),
            ("terminal", {"command": "echo x > src/made"}),
        ]
        await actor.call("delegate_task", {"goal": "try"})
    assert [result.is_error for result in puppet.results] == [True, True, False]
    assert not any(MARKER in result.text for result in puppet.results)
    assert not (stage.outside / "new").exists()
    assert (stage.root / "src/made").read_text() == "x\n"


@needs_sandbox
async def test_a_task_is_asked_about_what_is_to_leave_the_sandbox(tmp_path: Path) -> None:
    stage, puppet = set_up(tmp_path), Puppet()
    stage.model = puppet
    confined = replace(premises_of(stage), sandbox=SandboxRules("workspace", temporary=()))
    async with acting_with(stage, "accept_edits", confined) as actor:
        puppet.attempts = [("terminal", {"command": "ls", "unconfined": True})]
        await actor.call("delegate_task", {"goal": "try"}, call_id="parent")
        (asked,) = actor.user.questions
    assert asked.parent_id == "parent"
    assert "(task 1: try)" in asked.title
    assert [result.is_error for result in puppet.results] == [True]


async def test_each_is_told_of_the_ends_of_its_own_background_commands(tmp_path: Path) -> None:
    """A task's ends are its own, and the session's do not get lost in a task."""
    async with open_workroom(tmp_path, mode="bypass") as room:
        await room.run_one(made_call("terminal", command=UNTIL_TOLD, background=True))

        async def end_both() -> None:
            (room.root / "go").touch()
            await until(lambda: len(list(room.root.glob("gone-*"))) == 2)

        look = [wait(0.02), *use("read_file", path="go")]  # the ends are seen some time later
        both = [
            [TextDelta("First."), *use("terminal", command=UNTIL_TOLD, background=True)],
            [end_both, *use("read_file", path="go")],
            *[look] * MOST_LOOKS,
            say("Done."),
        ]
        cast_for(room, {"part": both})
        turn = begin(room, delegated("part"))
        await turn.response()
        told = [[text for text in texts_of(each) if ENDED in text] for each in room.model.requests]
        tasks = [told[n] for n, each in enumerate(room.model.requests) if is_of_task(each)]
        assert [len(tasks[-1]), len(told[-1])] == [1, 1]
        assert tasks[-1] != told[-1]


def texts_of(request: ModelRequest) -> list[str]:
    """Return what a model was told besides the results of its calls."""
    messages = [each for each in request.messages if isinstance(each, UserMessage)]
    return [part.text for each in messages for part in each.parts if isinstance(part, Text)]


def is_of_task(request: ModelRequest) -> bool:
    return texts_of(request)[0].startswith("part")
