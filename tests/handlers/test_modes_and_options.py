"""Modes and options: two pickers over one choice, always in step."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel
from tests.support.editor import json_at
from tests.support.server_parts import MODEL_ID, make_registry
from tests.support.user_texts import NOT_A_VALUE_OF

KNOWN = "ask, accept_edits, plan, bypass"
MODE_IDS = ["ask", "accept_edits", "plan", "bypass"]


def mode(session: str, mode_id: JsonValue) -> JsonValue:
    return {"sessionId": session, "modeId": mode_id}


def option(session: str, config_id: JsonValue, value: JsonValue) -> JsonValue:
    return {"sessionId": session, "configId": config_id, "value": value}


@pytest.mark.parametrize("mode_id", MODE_IDS)
async def test_setting_the_mode_is_answered_before_the_option_update(mode_id: str) -> None:
    """Trap 2, Trap 18, ACP-MODES, ACP-CONFIG."""
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        await editor.call("session/set_mode", mode(session, mode_id))
        await editor.prompt(session, "hi")
        assert expected.without_commands(editor.messages)[2:4] == [
            expected.result_response(3, {}),
            expected.session_update(session, expected.options_update(mode_id)),
        ]
        assert registry.find(session).context.options.mode == mode_id


@pytest.mark.parametrize("mode_id", MODE_IDS)
async def test_setting_the_option_returns_all_options_before_the_mode_update(
    mode_id: str,
) -> None:
    """Trap 2, ACP-CONFIG, ACP-MODES."""
    registry = make_registry(EchoModel, "plan" if mode_id == "ask" else "ask")
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        await editor.call("session/set_config_option", option(session, "mode", mode_id))
        await editor.prompt(session, "hi")
        assert expected.without_commands(editor.messages)[2:4] == [
            expected.result_response(3, {"configOptions": expected.config_options(mode_id)}),
            expected.session_update(session, expected.mode_update(mode_id)),
        ]
        assert registry.find(session).context.options.mode == mode_id


async def test_choosing_the_current_mode_is_answered_without_an_update() -> None:
    """ACP-CONFIG: other options are set without a word about the mode, too."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        for choice in (("mode", "ask"), ("model", MODEL_ID)):
            answer = await editor.call("session/set_config_option", option(session, *choice))
            assert json_at(answer, "result") == {"configOptions": expected.config_options("ask")}
        await editor.prompt(session, "hi")
        kinds = [json_at(each, "sessionUpdate") for each in editor.updates_of(session)]
        assert kinds == ["available_commands_update", "agent_message_chunk"]


async def test_both_mode_pickers_stay_in_sync_however_the_mode_is_set() -> None:
    """ACP-MODES, ACP-CONFIG: each sees what the other did."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        await editor.call("session/set_mode", mode(session, "plan"))
        await editor.call("session/set_config_option", option(session, "mode", "bypass"))
        await editor.call("session/set_mode", mode(session, "accept_edits"))
        await editor.prompt(session, "hi")
        assert expected.without_commands(editor.updates_of(session))[:3] == [
            expected.options_update("plan"),
            expected.mode_update("bypass"),
            expected.options_update("accept_edits"),
        ]


async def test_settings_in_one_write_are_applied_in_order() -> None:
    """Trap 15."""
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        pending = [
            editor.start_request("session/set_mode", mode(session, "plan")),
            editor.start_request("session/set_config_option", option(session, "mode", "bypass")),
            editor.start_request("session/set_config_option", option(session, "mode", "ask")),
        ]
        assert [await each.response() for each in pending] == [
            expected.result_response(3, {}),
            expected.result_response(4, {"configOptions": expected.config_options("bypass")}),
            expected.result_response(5, {"configOptions": expected.config_options("ask")}),
        ]
        assert registry.find(session).context.options.mode == "ask"


async def test_each_session_has_its_own_mode() -> None:
    """Trap 15, ACP-MODES."""
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        one, other = await editor.new_session(), await editor.new_session()
        await editor.call("session/set_mode", mode(one, "bypass"))
        assert (
            registry.find(one).context.options.mode,
            registry.find(other).context.options.mode,
        ) == ("bypass", "ask")
        assert expected.without_commands(editor.updates_of(other)) == []


async def test_the_mode_can_be_set_while_a_turn_runs(tmp_path: Path) -> None:
    """Trap 15, ACP-MODES, ACP-CONFIG: answered at once, the turn goes on."""
    registry = make_scripted_registry(tmp_path)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(tmp_path)
        pending = editor.start_prompt(session, "wait")
        await editor.wait_until(lambda: editor.agent_text(session) or None, "first word")
        answer = await editor.call("session/set_mode", mode(session, "plan"))
        assert answer == expected.result_response(4, {})
        answer = await editor.call("session/set_config_option", option(session, "mode", "ask"))
        assert answer == expected.result_response(
            5, {"configOptions": expected.config_options("ask")}
        )
        assert not pending.is_answered
        editor.cancel(session)
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)


@pytest.mark.parametrize("mode_id", ["", "Plan", "nonsense", "ask "])
async def test_an_unknown_mode_is_refused_with_the_available_ones(mode_id: str) -> None:
    """Trap 11, ACP-MODES."""
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        answer = await editor.call("session/set_mode", mode(session, mode_id))
        assert answer == expected.invalid_params(
            3, f"unknown mode {mode_id!r}; choose one of {KNOWN}"
        )
        assert registry.find(session).context.options.mode == "ask"
        assert expected.without_commands(editor.updates_of(session)) == []


@pytest.mark.parametrize("mode_id", [None, 5, True, ["ask"]])
async def test_a_non_string_mode_is_refused(mode_id: JsonValue) -> None:
    """Trap 11: modeId is strict."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        answer = await editor.call("session/set_mode", mode(session, mode_id))
        assert answer == expected.invalid_params(3, "modeId: Input should be a valid string")


@pytest.mark.parametrize(
    ("config_id", "value", "reason"),
    [
        ("", "ask", "unknown configuration option ''; choose one of mode, model"),
        ("model", "ask", f"'ask' {NOT_A_VALUE_OF} 'model'; choose one of test"),
        (
            "thought_level",
            "low",
            "unknown configuration option 'thought_level'; choose one of mode, model",
        ),
        ("mode", "nonsense", f"'nonsense' {NOT_A_VALUE_OF} 'mode'; choose one of {KNOWN}"),
        ("mode", "", f"'' {NOT_A_VALUE_OF} 'mode'; choose one of {KNOWN}"),
        (None, "ask", "configId: Input should be a valid string"),
    ],
)
async def test_an_unknown_option_or_value_is_refused_with_the_available_ones(
    config_id: JsonValue, value: JsonValue, reason: str
) -> None:
    """Trap 11, ACP-CONFIG."""
    registry = make_registry(EchoModel)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        answer = await editor.call("session/set_config_option", option(session, config_id, value))
        assert answer == expected.invalid_params(3, reason)
        assert registry.find(session).context.options.mode == "ask"
        assert expected.without_commands(editor.updates_of(session)) == []


@pytest.mark.parametrize("value", [None, 5, 1.5, ["ask"], {"value": "ask"}])
async def test_a_null_value_is_refused(value: JsonValue) -> None:
    """Trap 11, ACP-CONFIG."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        answer = await editor.call("session/set_config_option", option(session, "mode", value))
        assert answer == expected.invalid_params(
            3, "value.bool: Input should be a valid boolean (and 1 more)"
        )


async def test_a_boolean_mode_is_refused() -> None:
    """Trap 20, ACP-CONFIG."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        params: JsonValue = {
            "sessionId": session,
            "configId": "mode",
            "type": "boolean",
            "value": True,
        }
        answer = await editor.call("session/set_config_option", params)
        assert answer == expected.invalid_params(
            3, f"True {NOT_A_VALUE_OF} 'mode'; choose one of {KNOWN}"
        )


@pytest.mark.parametrize(
    ("method", "more"),
    [
        ("session/set_mode", {"modeId": "plan"}),
        ("session/set_config_option", {"configId": "mode", "value": "plan"}),
    ],
)
async def test_the_mode_of_an_unknown_session_cannot_be_set(
    method: str, more: dict[str, JsonValue]
) -> None:
    """ACP-INFO-UNKNOWNSESSION."""
    async with open_checked_editor(EchoModel()) as editor:
        answer = await editor.call(method, {"sessionId": "sess_nobody", **more})
        assert answer == expected.unknown_session(2, "sess_nobody")
