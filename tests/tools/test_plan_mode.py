"""Plan mode: told to the model once, left by the user's word alone."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.permissions.gate import PLAN_REJECTED
from acp_server.permissions.policy import NOT_PLANNING as NOTHING_TO_ACCEPT
from acp_server.permissions.policy import PLANNING as REFUSED
from acp_server.session.prompting.mode_notes import PLAN_MODE_OFF, PLAN_MODE_ON
from acp_server.tools.interaction.exit_plan import ACCEPTED, UNATTENDED
from acp_server.turn.conversation import UserMessage
from tests.support.editor import Object, json_at
from tests.tools.editor_session import Answer, ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call, stream_call

ASK = "session/request_permission"
PLAN = "1. Change `a.py`.\n2. Run the tests."


def modes_told(room: ToolEditorSession) -> list[tuple[JsonValue, JsonValue]]:
    """The modes that the client heard of, as the mode and as the option."""
    updates = room.editor.updates_of(room.session_id)
    modes = [json_at(u, "currentModeId") for u in updates if "currentModeId" in str(u)]
    options = [
        json_at(u, "configOptions", 0, "currentValue") for u in updates if "configOptions" in str(u)
    ]
    return list(zip(modes, options, strict=True))


async def said_to_model(room: ToolEditorSession, text: str = "go") -> list[str]:
    """Send a prompt; return what of it reached the model, part by part."""
    room.model.rounds = [[]]
    await room.editor.prompt(room.session_id, text)
    newest = room.model.requests[-1].messages[-1]
    assert isinstance(newest, UserMessage)
    return [getattr(part, "text", "") for part in newest.parts]


@pytest.mark.parametrize(
    ("choice", "mode"), [("accept_and_ask", "ask"), ("accept_edits", "accept_edits")]
)
async def test_accepting_a_plan_switches_the_mode_and_work_continues(
    tmp_path: Path, choice: str, mode: str
) -> None:
    answers = {ASK: allow(choice)}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as room:
        told = await room.run_one(call("exit_plan", plan=PLAN))
        assert (told.text, told.status, told.shown_text) == (ACCEPTED, "completed", PLAN)
        assert told.updates[0]["kind"] == "switch_mode"
        (asked,) = room.editor.asked(ASK)
        assert json_at(asked, "toolCall", "kind") == "switch_mode"
        assert json_at(asked, "toolCall", "content", 0, "content", "text") == PLAN
        assert asked["options"] == [
            {
                "optionId": "accept_and_ask",
                "name": "Accept and ask before edits",
                "kind": "allow_once",
            },
            {
                "optionId": "accept_edits",
                "name": "Accept and edit without asking",
                "kind": "allow_always",
            },
            {"optionId": "keep_planning", "name": "Keep planning", "kind": "reject_once"},
        ]
        assert modes_told(room) == [(mode, mode)]
        assert len(room.model.requests) == 2


async def test_an_accepted_plan_is_carried_out_in_the_same_turn(tmp_path: Path) -> None:
    answers = {ASK: allow("accept_edits")}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as room:
        refused = await room.run_one(call("write_file", path="a.txt", content="a\n"))
        assert refused.text == REFUSED
        await room.run_one(call("exit_plan", plan=PLAN))
        written = await room.run_one(call("write_file", path="a.txt", content="a\n"))
        assert written.status == "completed"
        assert len(room.editor.asked(ASK)) == 1


async def test_a_plan_that_is_not_accepted_changes_nothing(tmp_path: Path) -> None:
    answers = {ASK: allow("keep_planning")}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as room:
        told = await room.run_one(call("exit_plan", plan=PLAN))
        assert (told.text, told.status) == (PLAN_REJECTED, "failed")
        assert modes_told(room) == []
        still = await room.run_one(call("write_file", path="a.txt", content="a\n"))
        assert still.text == REFUSED


STRANGE: dict[str, Answer] = {
    "an answer that was not offered": allow("allow_once"),
    "the id of a mode": allow("bypass"),
    "no outcome": lambda _: {},
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE.keys())
async def test_an_unknown_answer_does_not_accept_the_plan(tmp_path: Path, answer: Answer) -> None:
    async with open_tool_editor(tmp_path, mode="plan", answers={ASK: answer}) as room:
        told = await room.run_one(call("exit_plan", plan=PLAN))
        assert told.status == "failed"
        assert modes_told(room) == []


async def test_dismissing_a_plan_ends_the_turn_and_keeps_the_mode(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {ASK: lambda _: {"outcome": {"outcome": "cancelled"}}}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as room:
        made = call("exit_plan", plan=PLAN)
        room.model.rounds = [stream_call(made)]
        ended = await room.editor.prompt(room.session_id, "go")
        assert ended == {"stopReason": "cancelled"}
        assert room.updates_of(made.id).status == "failed"
        assert modes_told(room) == []


async def test_a_mode_switched_by_the_user_during_the_question_is_kept(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan") as room:
        made = call("exit_plan", plan=PLAN)
        room.model.rounds = [stream_call(made)]
        pending = room.editor.start_prompt(room.session_id, "go")
        question = await room.editor.wait_for_response(lambda each: each.get("method") == ASK)
        chosen: Object = {"sessionId": room.session_id, "modeId": "ask"}
        await room.editor.call("session/set_mode", chosen)
        room.editor.reply(question, allow("accept_edits")({}))
        await pending.response()
        assert room.updates_of(made.id).text == NOTHING_TO_ACCEPT
        assert "currentModeId" not in str(room.editor.updates_of(room.session_id))


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "bypass"])
async def test_outside_plan_mode_there_is_no_plan_to_accept(tmp_path: Path, mode: str) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as room:
        chosen: Object = {"sessionId": room.session_id, "modeId": mode}
        await room.editor.call("session/set_mode", chosen)
        told = await room.run_one(call("exit_plan", plan=PLAN))
        assert told.text == NOTHING_TO_ACCEPT
        assert room.editor.requests == []


async def test_an_unattended_run_offers_no_plan(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan", client="acp-server-headless") as room:
        told = await room.run_one(call("exit_plan", plan=PLAN))
        assert (told.text, told.status) == (UNATTENDED, "failed")
        assert room.editor.requests == []


async def test_the_model_is_informed_of_plan_mode_when_it_changes(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan") as room:
        assert await said_to_model(room, "one") == ["one", PLAN_MODE_ON]
        assert await said_to_model(room, "two") == ["two"]
        await room.editor.prompt(room.session_id, "/mode accept_edits")
        assert await said_to_model(room, "three") == ["three", PLAN_MODE_OFF]
        assert await said_to_model(room, "four") == ["four"]
        await room.editor.prompt(room.session_id, "/mode plan")
        assert await said_to_model(room, "five") == ["five", PLAN_MODE_ON]
        systems = {request.system for request in room.model.requests}
        tools = {str(request.tools) for request in room.model.requests}
        assert (len(systems), len(tools)) == (1, 1)
