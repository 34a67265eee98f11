"""Questions of the model's: by form where there are forms, else in the chat; never of nobody."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.tools.interaction.clarify import ASKED_IN_CHAT, NOT_ANSWERED, UNATTENDED
from acp_server.turn.ports import TextDelta
from tests.support.editor import Object, json_at
from tests.tools.editor_session import Answer, EditorRefusedError, open_tool_editor
from tests.tools.typing_model import call, stream_call

FORMS: JsonValue = {"elicitation": {"form": {}}}
ELICIT = "elicitation/create"
QUESTION = "Which database?"
CHOICES: list[JsonValue] = ["SQLite", "Postgres"]


def filled(**content: JsonValue) -> Answer:
    return lambda _: {"action": "accept", "content": content}


def acting(action: str) -> Answer:
    return lambda _: {"action": action}


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        pytest.param(filled(choice="Postgres"), "the user answers: Postgres", id="a choice"),
        pytest.param(filled(answer=" Neither "), "the user answers: Neither", id="own words"),
        pytest.param(
            filled(choice="SQLite", answer="but small"), "the user answers: but small", id="both"
        ),
        pytest.param(filled(), NOT_ANSWERED, id="nothing filled in"),
        pytest.param(filled(choice=7), NOT_ANSWERED, id="a number"),
        pytest.param(acting("decline"), NOT_ANSWERED, id="declined"),
        pytest.param(acting("cancel"), NOT_ANSWERED, id="dismissed"),
        pytest.param(acting("a new one"), NOT_ANSWERED, id="an unknown action"),
    ],
)
async def test_a_form_is_answered(tmp_path: Path, answer: Answer, shown: str) -> None:
    async with open_tool_editor(tmp_path, capabilities=FORMS, answers={ELICIT: answer}) as session:
        updates = await session.run_one(call("clarify", question=QUESTION, choices=CHOICES))
        assert (updates.text, updates.status) == (shown, "completed")
        assert updates.title == QUESTION
        assert updates.shown_text.startswith(f"{QUESTION}\n\n1. SQLite\n2. Postgres")
        (form,) = session.editor.asked(ELICIT)
        assert form == {
            "mode": "form",
            "sessionId": session.session_id,
            "toolCallId": updates.call_id,
            "message": QUESTION,
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "choice": {
                        "type": "string",
                        "title": "Your choice",
                        "oneOf": [
                            {"const": "SQLite", "title": "SQLite"},
                            {"const": "Postgres", "title": "Postgres"},
                        ],
                    },
                    "answer": {"type": "string", "title": "Other answer (replaces the choice)"},
                },
            },
        }
        assert session.editor.agent_text(session.session_id) == "Done."


async def test_a_form_without_choices_requires_text(tmp_path: Path) -> None:
    answers = {ELICIT: filled(answer="Oslo")}
    async with open_tool_editor(tmp_path, capabilities=FORMS, answers=answers) as session:
        updates = await session.run_one(call("clarify", question="Where?", choices=[" ", ""]))
        assert updates.text == "the user answers: Oslo"
        (form,) = session.editor.asked(ELICIT)
        assert json_at(form, "requestedSchema") == {
            "type": "object",
            "properties": {"answer": {"type": "string", "title": "Your answer"}},
            "required": ["answer"],
        }


async def test_without_form_support_the_question_ends_the_turn(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path) as session:
        tool_call = call("clarify", question=QUESTION, choices=CHOICES)
        session.model.rounds = [stream_call(tool_call), [TextDelta("Postgres it is.")]]
        assert await session.editor.prompt(session.session_id, "go") == {"stopReason": "end_turn"}
        assert (
            session.editor.agent_text(session.session_id)
            == f"{QUESTION}\n\n1. SQLite\n2. Postgres\n"
        )
        assert session.updates_of(tool_call.id).status == "completed"
        assert len(session.model.requests) == 1
        assert await session.editor.prompt(session.session_id, "2") == {"stopReason": "end_turn"}
        question, answer = session.model.requests[1].messages[-2:]
        assert ASKED_IN_CHAT in str(question)
        assert "Text(text='2')" in str(answer)


async def test_a_client_that_fails_to_show_a_form_is_asked_in_the_chat(tmp_path: Path) -> None:
    def refuse(params: Object) -> JsonValue:
        raise EditorRefusedError(str(params["mode"]))

    async with open_tool_editor(tmp_path, capabilities=FORMS, answers={ELICIT: refuse}) as session:
        tool_call = call("clarify", question=QUESTION)
        session.model.rounds = [stream_call(tool_call)]
        assert await session.editor.prompt(session.session_id, "go") == {"stopReason": "end_turn"}
        assert session.editor.agent_text(session.session_id) == f"{QUESTION}\n"
        assert len(session.model.requests) == 1


async def test_an_unattended_run_asks_no_question(tmp_path: Path) -> None:
    client = "acp-server-headless"
    async with open_tool_editor(tmp_path, capabilities=FORMS, client=client) as session:
        updates = await session.run_one(call("clarify", question=QUESTION))
        assert (updates.text, updates.status) == (UNATTENDED, "completed")
        assert session.editor.requests == []
        assert session.editor.agent_text(session.session_id) == "Done."


async def test_cancelling_withdraws_an_open_question_and_drops_a_late_answer(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path, capabilities=FORMS) as session:
        tool_call = call("clarify", question=QUESTION, choices=CHOICES)
        session.model.rounds = [stream_call(tool_call)]
        pending = session.editor.start_prompt(session.session_id, "go")
        form = await session.editor.wait_for_response(lambda each: each.get("method") == ELICIT)
        session.editor.cancel(session.session_id)
        assert (await pending.response())["result"] == {"stopReason": "cancelled"}
        assert session.updates_of(tool_call.id).statuses == ["pending", "in_progress", "failed"]
        taken_back = {"jsonrpc": "2.0", "method": "$/cancel_request"}
        await session.editor.wait_for_response(
            lambda each: each == {**taken_back, "params": {"requestId": form["id"]}}
        )
        session.editor.reply(form, {"action": "accept", "content": {"choice": "SQLite"}})
        fine = await session.run_one(call("todo"))
        assert fine.text == "the list is empty"
        assert "SQLite'" not in str(session.model.requests[-1].messages[-1])


async def test_a_message_sent_during_the_question_is_its_answer(tmp_path: Path) -> None:
    """The turn goes on when the user has spoken before it could end."""
    async with open_tool_editor(tmp_path) as session:
        tool_call = call("clarify", question=QUESTION)

        async def say() -> None:
            session.editor.start_prompt(session.session_id, "/steer Postgres!")
            await session.editor.call("session/set_mode", {"sessionId": "none", "modeId": "ask"})

        session.model.rounds = [[*stream_call(tool_call), say]]
        assert await session.editor.prompt(session.session_id, "go") == {"stopReason": "end_turn"}
        assert "Postgres!" in str(session.model.requests[-1].messages[-1])
        assert len(session.model.requests) == 2
