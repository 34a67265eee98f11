"""What happens in a turn beside words: calls, notices, how full the window is, what was used."""

import pytest
from pydantic import JsonValue

from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.session.registry import SessionRegistry
from acp_server.turn.context_counter import ModelMeter
from acp_server.turn.conversation import ToolCall
from acp_server.turn.events import Usage
from acp_server.turn.ports import Retrying, TextDelta, ToolCallStarted, UsageReported
from tests.handlers import expected
from tests.handlers.checked_editor import open_checked_editor
from tests.support.server_parts import MODEL_ID, FakeModelCatalog, make_registry, make_services
from tests.support.user_texts import CALL_CANCELLED
from tests.turn.turn_harness import (
    CharacterMeter,
    FunctionTools,
    ModelRound,
    RoundModel,
    echo_arguments,
    tool_call_events,
)

CALL = ToolCall("c1", "echo", '{"a": 1}')
USED = UsageReported(Usage(1, 2, 4, 8, 16))


def call_update(status: str, text: str | None = None) -> JsonValue:
    update: dict[str, JsonValue] = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "c1",
        "status": status,
    }
    if text is not None:
        update["content"] = [{"type": "content", "content": {"type": "text", "text": text}}]
    return update


APPEARED: JsonValue = {
    "sessionUpdate": "tool_call",
    "toolCallId": "c1",
    "title": "echo",
    "name": "echo",
    "kind": "other",
    "status": "pending",
}


async def test_a_tool_call_is_shown_from_its_first_token_to_its_result() -> None:
    """Trap 1, Trap 16: tool_call first, its updates in order, all before the answer."""
    model = RoundModel(
        ModelRound(tool_call_events(CALL), "tool_use"), ModelRound([TextDelta("Done.")])
    )
    catalog = FixedCatalog(MODEL_ID, MODEL_ID, lambda: model)
    registry = SessionRegistry(make_services(catalog, toolbox=FunctionTools(echo=echo_arguments)))
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        await editor.prompt(session, "go")
        assert expected.shorten_ids(list(editor.messages[3:])) == [
            expected.session_update("sess_1", APPEARED),
            expected.session_update("sess_1", call_update("in_progress")),
            expected.session_update("sess_1", call_update("completed", '{"a": 1}')),
            expected.session_update("sess_1", expected.message_chunk("msg_1", "Done.")),
            expected.result_response(3, expected.END_TURN),
        ]


async def test_tool_calls_of_a_cancelled_turn_are_closed_before_the_response() -> None:
    """Trap 5."""
    model = RoundModel(ModelRound([ToolCallStarted("c1", "echo")], None))
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        pending = editor.start_prompt(session, "go")
        await model.is_blocked.wait()
        editor.cancel(session)
        await pending.response()
        reason = CALL_CANCELLED
        assert editor.messages[3:] == [
            expected.session_update(session, APPEARED),
            expected.session_update(session, call_update("failed", reason)),
            expected.result_response(3, expected.CANCELLED),
        ]


RETRYING = RoundModel(ModelRound([Retrying("overloaded", 2.0, 1, 5), TextDelta("Hello.")]))
RETRY_TEXT = "overloaded; retrying in 2 s (attempt 1 of 5)"


async def test_a_notice_is_sent_to_a_client_that_supports_notices() -> None:
    """Trap 20, ACP-CLIENTCAP."""
    can: JsonValue = {"session": {"notices": {}}}
    async with open_checked_editor(RETRYING, capabilities=can) as editor:
        session = await editor.new_session()
        await editor.prompt(session, "go")
        notice: JsonValue = {"sessionUpdate": "notice", "severity": "warning", "title": RETRY_TEXT}
        assert editor.messages[3] == expected.session_update(session, notice)


@pytest.mark.parametrize("can", [None, {}, {"session": {}}, {"session": {"notices": None}}])
async def test_a_notice_is_sent_as_a_thought_to_any_other_client(can: JsonValue) -> None:
    """Trap 20, ACP-CLIENTCAP: with a message id of its own."""
    async with open_checked_editor(RETRYING, capabilities=can) as editor:
        session = await editor.new_session()
        await editor.prompt(session, "go")
        assert expected.shorten_ids(list(editor.messages[3:5])) == [
            expected.session_update("sess_1", expected.thought_chunk("msg_1", f"{RETRY_TEXT}\n")),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "Hello.")),
        ]


async def test_the_last_declared_client_capabilities_apply() -> None:
    """Trap 20: a second initialize."""
    async with open_checked_editor(RETRYING) as editor:
        await editor.initialize(clientCapabilities={"session": {"notices": {}}})
        session = await editor.new_session()
        await editor.prompt(session, "go")
        assert [str(each["update"]) for each in editor.updates if "notice" in str(each)] != []


def measured(meter: ModelMeter, *rounds: ModelRound) -> SessionRegistry:
    model = RoundModel(*rounds)
    return SessionRegistry(make_services(FakeModelCatalog({MODEL_ID: model}, shared_meter=meter)))


@pytest.mark.parametrize("has_prices", [True, False])
async def test_context_window_use_and_token_usage_are_reported(*, has_prices: bool) -> None:
    """Trap 1, ACP-META: `usage_update`, then the sums of the turn in the answer's `_meta`."""
    registry = measured(
        CharacterMeter(window_tokens=100, has_prices=has_prices),
        ModelRound([TextDelta("Hi."), USED]),
    )
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        usage: dict[str, JsonValue] = {
            "requests": 1,
            "inputTokens": 1,
            "outputTokens": 2,
            "cacheReadTokens": 4,
            "cacheWriteTokens": 24,
            "costUsd": 2.0 if has_prices else None,
        }
        for number in (1, 2):
            assert await editor.prompt(session, "go") == {
                "stopReason": "end_turn",
                "_meta": {"hermes": {"usage": usage}},
            }
            update: dict[str, JsonValue] = {
                "sessionUpdate": "usage_update",
                "used": 31,
                "size": 100,
            }
            if has_prices:
                update["cost"] = {"amount": 2.0 * number, "currency": "USD"}
            assert editor.updates_of(session)[-1] == update


async def test_a_turn_without_usage_reports_none() -> None:
    """ACP-META: a command, or a model that does not count."""
    async with open_checked_editor(
        make_registry(lambda: RoundModel(ModelRound([TextDelta("Hi.")])))
    ) as editor:
        session = await editor.new_session()
        for prompt in ("/version", "hi"):
            assert await editor.prompt(session, prompt) == expected.END_TURN


async def test_a_prompt_that_exceeds_the_context_window_is_refused_with_a_message() -> None:
    """The client's parameters are at fault, and the session goes on."""
    async with open_checked_editor(
        measured(CharacterMeter(window_tokens=20_000), ModelRound())
    ) as editor:
        session = await editor.new_session()
        answer = await editor.start_prompt(session, "x" * 20_001).response()
        reason = (
            "the prompt is too large: about 20,001 tokens, and the context window holds 20,000; "
            "shorten it, or name the file and let the agent read it"
        )
        assert answer == expected.error_response(3, -32602, "Prompt too large", reason)
        assert editor.agent_text(session) == reason
        assert await editor.prompt(session, "x") == expected.END_TURN
