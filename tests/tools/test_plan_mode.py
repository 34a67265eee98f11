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


def notified_modes(session: ToolEditorSession) -> list[tuple[JsonValue, JsonValue]]:
    """The modes that the client heard of, as the mode and as the option."""
    updates = session.editor.updates_of(session.session_id)
    modes = [json_at(u, "currentModeId") for u in updates if "currentModeId" in str(u)]
    options = [
        json_at(u, "configOptions", 0, "currentValue") for u in updates if "configOptions" in str(u)
    ]
    return list(zip(modes, options, strict=True))


async def prompt_parts(session: ToolEditorSession, text: str = "go") -> list[str]:
    """Send a prompt; return what of it reached the model, part by part."""
    session.model.rounds = [[]]
    await session.editor.prompt(session.session_id, text)
    newest = session.model.requests[-1].messages[-1]
    assert isinstance(newest, UserMessage)
    return [getattr(part, "text", "") for part in newest.parts]


@pytest.mark.parametrize(
    ("choice", "mode"), [("accept_and_ask", "ask"), ("accept_edits", "accept_edits")]
)
async def test_accepting_a_plan_switches_the_mode_and_work_continues(
    tmp_path: Path, choice: str, mode: str
) -> None:
    answers = {ASK: allow(choice)}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as session:
        updates = await session.run_one(call("exit_plan", plan=PLAN))
        assert (updates.text, updates.status, updates.shown_text) == (ACCEPTED, "completed", PLAN)
        assert updates.updates[0]["kind"] == "switch_mode"
        (permission,) = session.editor.asked(ASK)
        assert json_at(permission, "toolCall", "kind") == "switch_mode"
        assert json_at(permission, "toolCall", "content", 0, "content", "text") == PLAN
        assert permission["options"] == [
            {
                "optionId": "accept_and_ask",
                "name": "Accept and ask before edits",
                "kind": "allow_once",
            },
            {
                "optionId": "accept_edits",
                "name": "Accept and edit without asking in this session",
                "kind": "allow_always",
            },
            {"optionId": "keep_planning", "name": "Keep planning", "kind": "reject_once"},
        ]
        assert notified_modes(session) == [(mode, mode)]
        assert len(session.model.requests) == 2


async def test_an_accepted_plan_is_carried_out_in_the_same_turn(tmp_path: Path) -> None:
    answers = {ASK: allow("accept_edits")}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as session:
        refused = await session.run_one(call("write_file", path="a.txt", content="a\n"))
        assert refused.text == REFUSED
        await session.run_one(call("exit_plan", plan=PLAN))
        written = await session.run_one(call("write_file", path="a.txt", content="a\n"))
        assert written.status == "completed"
        assert len(session.editor.asked(ASK)) == 1


async def test_a_plan_that_is_not_accepted_changes_nothing(tmp_path: Path) -> None:
    answers = {ASK: allow("keep_planning")}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as session:
        updates = await session.run_one(call("exit_plan", plan=PLAN))
        assert (updates.text, updates.status) == (PLAN_REJECTED, "failed")
        assert notified_modes(session) == []
        still = await session.run_one(call("write_file", path="a.txt", content="a\n"))
        assert still.text == REFUSED


STRANGE: dict[str, Answer] = {
    "an answer that was not offered": allow("allow_once"),
    "the id of a mode": allow("bypass"),
    "no outcome": lambda _: {},
}


@pytest.mark.parametrize("answer", STRANGE.values(), ids=STRANGE.keys())
async def test_an_unknown_answer_does_not_accept_the_plan(tmp_path: Path, answer: Answer) -> None:
    async with open_tool_editor(tmp_path, mode="plan", answers={ASK: answer}) as session:
        updates = await session.run_one(call("exit_plan", plan=PLAN))
        assert updates.status == "failed"
        assert notified_modes(session) == []


async def test_dismissing_a_plan_ends_the_turn_and_keeps_the_mode(tmp_path: Path) -> None:
    answers: dict[str, Answer] = {ASK: lambda _: {"outcome": {"outcome": "cancelled"}}}
    async with open_tool_editor(tmp_path, mode="plan", answers=answers) as session:
        tool_call = call("exit_plan", plan=PLAN)
        session.model.rounds = [stream_call(tool_call)]
        ended = await session.editor.prompt(session.session_id, "go")
        assert ended == {"stopReason": "cancelled"}
        assert session.updates_of(tool_call.id).status == "failed"
        assert notified_modes(session) == []


async def test_a_mode_switched_by_the_user_during_the_question_is_kept(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan") as session:
        tool_call = call("exit_plan", plan=PLAN)
        session.model.rounds = [stream_call(tool_call)]
        pending = session.editor.start_prompt(session.session_id, "go")
        question = await session.editor.wait_for_response(lambda each: each.get("method") == ASK)
        chosen: Object = {"sessionId": session.session_id, "modeId": "ask"}
        await session.editor.call("session/set_mode", chosen)
        session.editor.reply(question, allow("accept_edits")({}))
        await pending.response()
        assert session.updates_of(tool_call.id).text == NOTHING_TO_ACCEPT
        assert "currentModeId" not in str(session.editor.updates_of(session.session_id))


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "bypass"])
async def test_outside_plan_mode_there_is_no_plan_to_accept(tmp_path: Path, mode: str) -> None:
    async with open_tool_editor(tmp_path, mode="ask") as session:
        chosen: Object = {"sessionId": session.session_id, "modeId": mode}
        await session.editor.call("session/set_mode", chosen)
        updates = await session.run_one(call("exit_plan", plan=PLAN))
        assert updates.text == NOTHING_TO_ACCEPT
        assert session.editor.requests == []


async def test_an_unattended_run_offers_no_plan(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan", client="acp-server-headless") as session:
        updates = await session.run_one(call("exit_plan", plan=PLAN))
        assert (updates.text, updates.status) == (UNATTENDED, "failed")
        assert session.editor.requests == []


async def test_the_model_is_informed_of_plan_mode_when_it_changes(tmp_path: Path) -> None:
    async with open_tool_editor(tmp_path, mode="plan") as session:
        assert await prompt_parts(session, "one") == ["one", PLAN_MODE_ON]
        assert await prompt_parts(session, "two") == ["two"]
        await session.editor.prompt(session.session_id, "/mode accept_edits")
        assert await prompt_parts(session, "three") == ["three", PLAN_MODE_OFF]
        assert await prompt_parts(session, "four") == ["four"]
        await session.editor.prompt(session.session_id, "/mode plan")
        assert await prompt_parts(session, "five") == ["five", PLAN_MODE_ON]
        systems = {request.system for request in session.model.requests}
        tools = {str(request.tools) for request in session.model.requests}
        assert (len(systems), len(tools)) == (1, 1)
