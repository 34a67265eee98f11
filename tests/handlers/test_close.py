"""Closing a session: its work ends, its prompts are answered, and it is gone."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel, UncancellableModel
from tests.support.editor import prompt_params


def of(session: JsonValue, **more: JsonValue) -> JsonValue:
    return {"sessionId": session, **more}


async def test_closing_an_idle_session_is_answered_with_an_empty_object() -> None:
    """Trap 18, ACP-CLOSE."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        assert await editor.call("session/close", of(session)) == expected.result_response(3, {})


async def test_closing_during_prompts_answers_them_cancelled_first(tmp_path: Path) -> None:
    """Trap 3, ACP-CLOSE: the running one and the waiting ones, then the close."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        editor.start_prompt(session, "wait")
        await editor.wait_until(lambda: editor.agent_text(session) or None, "first word")
        editor.start_prompt(session, "think")
        close = editor.start_request("session/close", of(session))
        await close.response()
        answers = [message for message in editor.messages if "id" in message][2:]
        assert sorted(answers[:2], key=lambda answer: str(answer["id"])) == [
            expected.result_response(3, expected.CANCELLED),
            expected.result_response(4, expected.CANCELLED),
        ]
        assert answers[2:] == [expected.result_response(5, {})]
        assert editor.agent_text(session) == "Working"


async def test_a_closed_session_sends_no_updates_even_if_its_model_does_not_stop() -> None:
    """Trap 3, ACP-CLOSE."""
    model = UncancellableModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        pending = editor.start_prompt(session, "hang")
        await model.is_blocked.wait()
        assert await editor.call("session/close", of(session)) == expected.result_response(4, {})
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)
        model.allowed_to_end.set()
        await model.has_ended.wait()
        assert await editor.new_session() != session
        assert editor.agent_text(session) == "Working"


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("session/prompt", {"prompt": [{"type": "text", "text": "hi"}]}),
        ("session/close", {}),
        ("session/set_mode", {"modeId": "plan"}),
        ("session/set_config_option", {"configId": "mode", "value": "plan"}),
    ],
)
async def test_requests_to_a_closed_session_are_refused(
    method: str, params: dict[str, JsonValue]
) -> None:
    """ACP-CLOSE, ACP-INFO-UNKNOWNSESSION: -32002, which clients of session/close count as done."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        await editor.call("session/close", of(session))
        answer = await editor.call(method, of(session, **params))
        assert answer == expected.unknown_session(4, session)


async def test_a_prompt_after_a_close_in_the_same_write_is_refused() -> None:
    """Trap 15, ACP-CLOSE."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        close = editor.start_request("session/close", of(session))
        prompt = editor.start_request("session/prompt", prompt_params(session, "hi"))
        assert await close.response() == expected.result_response(3, {})
        assert await prompt.response() == expected.unknown_session(4, session)


async def test_cancelling_a_closed_session_is_ignored() -> None:
    """Trap 3."""
    async with open_checked_editor(EchoModel()) as editor:
        session, other = await editor.new_session(), await editor.new_session()
        await editor.call("session/close", of(session))
        editor.cancel(session)
        assert await editor.prompt(other, "hi") == expected.END_TURN


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, "sessionId: Field required"),
        (None, "sessionId: Field required"),
        ({"sessionId": 5}, "sessionId: Input should be a valid string"),
        ({"sessionId": None}, "sessionId: Input should be a valid string"),
    ],
)
async def test_a_close_without_a_session_is_refused(params: JsonValue, reason: str) -> None:
    """Trap 11."""
    async with open_checked_editor(EchoModel()) as editor:
        assert await editor.call("session/close", params) == expected.invalid_params(2, reason)
