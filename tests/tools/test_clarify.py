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
    ("answer", "told"),
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
async def test_a_form_is_answered(tmp_path: Path, answer: Answer, told: str) -> None:
    async with open_tool_editor(tmp_path, capabilities=FORMS, answers={ELICIT: answer}) as room:
        asked = await room.run_one(call("clarify", question=QUESTION, choices=CHOICES))
        assert (asked.text, asked.status) == (told, "completed")
        assert asked.title == QUESTION
        assert asked.shown_text.startswith(f"{QUESTION}\n\n1. SQLite\n2. Postgres")
        (form,) = room.editor.asked(ELICIT)
        assert form == {
            "mode": "form",
            "sessionId": room.session_id,
            "toolCallId": asked.call_id,
            "message": QUESTION,
            "requestedSchema": {
                "type": "object",
                "properties": {
                    "choice": {
                        "type": "string",
                        "title": "Answer",
                        "oneOf": [
                            {"const": "SQLite", "title": "SQLite"},
                            {"const": "Postgres", "title": "Postgres"},
                        ],
                    },
                    "answer": {"type": "string", "title": "Something else"},
                },
            },
        }
        assert room.editor.agent_text(room.session_id) == "Done."


async def test_a_form_without_choices_requires_text(tmp_path: Path) -> None:
    answers = {ELICIT: filled(answer="Oslo")}
    async with open_tool_editor(tmp_path, capabilities=FORMS, answers=answers) as room:
        asked = await room.run_one(call("clarify", question="Where?", choices=[" ", ""]))
        assert asked.text == "the user answers: Oslo"
        (form,) = room.editor.asked(ELICIT)
        assert json_at(form, "requestedSchema") == {
            "type": "object",
            "properties": {"answer": {"type": "string", "title": "Answer"}},
            "required": ["answer"],
        }


async def test_without_form_support_the_question_ends_the_turn(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path) as room:
        made = call("clarify", question=QUESTION, choices=CHOICES)
        room.model.rounds = [stream_call(made), [TextDelta("Postgres it is.")]]
        assert await room.editor.prompt(room.session_id, "go") == {"stopReason": "end_turn"}
        assert room.editor.agent_text(room.session_id) == f"{QUESTION}\n\n1. SQLite\n2. Postgres\n"
        assert room.updates_of(made.id).status == "completed"
        assert len(room.model.requests) == 1
        assert await room.editor.prompt(room.session_id, "2") == {"stopReason": "end_turn"}
        question, answer = room.model.requests[1].messages[-2:]
        assert ASKED_IN_CHAT in str(question)
        assert "Text(text='2')" in str(answer)


async def test_a_client_that_fails_to_show_a_form_is_asked_in_the_chat(tmp_path: Path) -> None:
    def refuse(params: Object) -> JsonValue:
        raise EditorRefusedError(str(params["mode"]))

    async with open_tool_editor(tmp_path, capabilities=FORMS, answers={ELICIT: refuse}) as room:
        made = call("clarify", question=QUESTION)
        room.model.rounds = [stream_call(made)]
        assert await room.editor.prompt(room.session_id, "go") == {"stopReason": "end_turn"}
        assert room.editor.agent_text(room.session_id) == f"{QUESTION}\n"
        assert len(room.model.requests) == 1


async def test_an_unattended_run_asks_no_question(tmp_path: Path) -> None:
    client = "acp-server-headless"
    async with open_tool_editor(tmp_path, capabilities=FORMS, client=client) as room:
        asked = await room.run_one(call("clarify", question=QUESTION))
        assert (asked.text, asked.status) == (UNATTENDED, "completed")
        assert room.editor.requests == []
        assert room.editor.agent_text(room.session_id) == "Done."


async def test_cancelling_withdraws_an_open_question_and_drops_a_late_answer(
    tmp_path: Path,
) -> None:
    async with open_tool_editor(tmp_path, capabilities=FORMS) as room:
        made = call("clarify", question=QUESTION, choices=CHOICES)
        room.model.rounds = [stream_call(made)]
        pending = room.editor.start_prompt(room.session_id, "go")
        form = await room.editor.wait_for_response(lambda each: each.get("method") == ELICIT)
        room.editor.cancel(room.session_id)
        assert (await pending.response())["result"] == {"stopReason": "cancelled"}
        assert room.updates_of(made.id).statuses == ["pending", "in_progress", "failed"]
        taken_back = {"jsonrpc": "2.0", "method": "$/cancel_request"}
        await room.editor.wait_for_response(
            lambda each: each == {**taken_back, "params": {"requestId": form["id"]}}
        )
        room.editor.reply(form, {"action": "accept", "content": {"choice": "SQLite"}})
        fine = await room.run_one(call("todo"))
        assert fine.text == "the list is empty"
        assert "SQLite'" not in str(room.model.requests[-1].messages[-1])


async def test_a_message_sent_during_the_question_is_its_answer(tmp_path: Path) -> None:
    """The turn goes on when the user has spoken before it could end."""
    async with open_tool_editor(tmp_path) as room:
        made = call("clarify", question=QUESTION)

        async def say() -> None:
            room.editor.start_prompt(room.session_id, "/steer Postgres!")
            await room.editor.call("session/set_mode", {"sessionId": "none", "modeId": "ask"})

        room.model.rounds = [[*stream_call(made), say]]
        assert await room.editor.prompt(room.session_id, "go") == {"stopReason": "end_turn"}
        assert "Postgres!" in str(room.model.requests[-1].messages[-1])
        assert len(room.model.requests) == 2
