"""Choosing who answers and how deeply it thinks; models that become known later."""

import anyio
from pydantic import JsonValue

from acp_server.session.registry import SessionRegistry
from acp_server.turn.ports import TextDelta
from tests.handlers import expected
from tests.handlers.checked_editor import open_checked_editor
from tests.handlers.fake_models import EchoModel
from tests.support.editor import json_at
from tests.support.server_parts import FakeModelCatalog, make_services
from tests.support.user_texts import NOT_A_VALUE_OF
from tests.turn.turn_harness import ModelRound, RoundModel

LEVELS = (("low", "Low"), ("high", "High"))
MODE = expected.config_options("ask")


def option(session: str, config_id: str, value: str) -> JsonValue:
    return {"sessionId": session, "configId": config_id, "value": value}


def options(model: JsonValue, *more: JsonValue) -> JsonValue:
    return [json_at(MODE, 0), model, *more]


ONE = expected.model_option("one", ("one", "ONE"), ("two", "TWO"))
TWO = expected.model_option("two", ("one", "ONE"), ("two", "TWO"))


async def test_the_config_options_are_mode_model_and_thought_level_in_this_order() -> None:
    """ACP-CONFIG: in the order of their importance."""
    catalog = FakeModelCatalog(
        {"one": EchoModel(), "two": EchoModel()}, levels={"one": ("low", "high")}
    )
    async with open_checked_editor(SessionRegistry(make_services(catalog))) as editor:
        answer = await editor.call("session/new", {"cwd": "/", "mcpServers": []})
        assert json_at(answer, "result", "configOptions") == options(
            ONE, expected.thought_option("high", *LEVELS)
        )


async def test_choosing_a_model_changes_the_thought_levels_in_the_same_response() -> None:
    """Trap 15, ACP-CONFIG: all options, always; nothing else is sent."""
    catalog = FakeModelCatalog(
        {"one": EchoModel(), "two": EchoModel()}, levels={"one": ("low", "high")}
    )
    async with open_checked_editor(SessionRegistry(make_services(catalog))) as editor:
        session = await editor.new_session()
        answers = [
            await editor.call("session/set_config_option", option(session, *choice))
            for choice in (("thought_level", "low"), ("model", "two"), ("model", "one"))
        ]
        low = expected.thought_option("low", *LEVELS)
        assert answers == [
            expected.result_response(3, {"configOptions": options(ONE, low)}),
            expected.result_response(4, {"configOptions": options(TWO)}),
            expected.result_response(5, {"configOptions": options(ONE, low)}),
        ]
        assert expected.without_commands(editor.updates_of(session)) == []


async def test_the_chosen_model_is_used_from_the_next_prompt_on() -> None:
    """Trap 15, ACP-CONFIG: a running turn goes on with what it has."""
    done = ModelRound([TextDelta("Done.")])
    first, second = RoundModel(ModelRound((), None), done), RoundModel(done)
    catalog = FakeModelCatalog({"one": first, "two": second}, levels={"two": ("low", "high")})
    async with open_checked_editor(SessionRegistry(make_services(catalog))) as editor:
        session = await editor.new_session()
        running = editor.start_prompt(session, "hi")
        await first.is_blocked.wait()
        await editor.call("session/set_config_option", option(session, "model", "two"))
        await editor.call("session/set_config_option", option(session, "thought_level", "low"))
        assert not running.is_answered
        editor.cancel(session)
        await editor.prompt(session, "hi")
    assert [request.thought_level for request in first.requests] == [None]
    assert [request.thought_level for request in second.requests] == ["low"]


async def test_an_unknown_model_or_level_is_refused_with_the_available_ones() -> None:
    """ACP-CONFIG."""
    catalog = FakeModelCatalog(
        {"one": EchoModel(), "two": EchoModel()}, levels={"one": ("low", "high")}
    )
    async with open_checked_editor(SessionRegistry(make_services(catalog))) as editor:
        session = await editor.new_session()
        answers = [
            await editor.call("session/set_config_option", option(session, *choice))
            for choice in (("model", "three"), ("thought_level", "deep"))
        ]
        assert answers == [
            expected.invalid_params(3, f"'three' {NOT_A_VALUE_OF} 'model'; choose one of one, two"),
            expected.invalid_params(
                4, f"'deep' {NOT_A_VALUE_OF} 'thought_level'; choose one of low, high"
            ),
        ]


async def test_a_model_can_be_chosen_before_its_list_has_loaded() -> None:
    """ACP-CONFIG: an editor that remembers a model asks for it at once."""
    catalog = FakeModelCatalog(
        {"one": EchoModel()}, models_after_refresh={"two": EchoModel()}, refresh_gate=anyio.Event()
    )
    async with open_checked_editor(SessionRegistry(make_services(catalog))) as editor:
        session = await editor.new_session()
        choice = editor.start_request("session/set_config_option", option(session, "model", "two"))
        await anyio.wait_all_tasks_blocked()
        assert not choice.is_answered
        catalog.allow_refresh()
        assert await choice.response() == expected.result_response(
            3, {"configOptions": options(TWO)}
        )


async def test_an_unknown_model_is_refused_once_the_list_has_loaded() -> None:
    """ACP-CONFIG."""
    catalog = FakeModelCatalog(
        {"one": EchoModel()}, models_after_refresh={"two": EchoModel()}, refresh_gate=anyio.Event()
    )
    async with open_checked_editor(SessionRegistry(make_services(catalog))) as editor:
        session = await editor.new_session()
        choice = editor.start_request(
            "session/set_config_option", option(session, "model", "three")
        )
        catalog.allow_refresh()
        assert await choice.response() == expected.invalid_params(
            3, f"'three' {NOT_A_VALUE_OF} 'model'; choose one of one, two"
        )


async def test_the_last_requested_model_wins_even_if_an_earlier_one_loads_later() -> None:
    """Trap 15, ACP-CONFIG: choices hold in the order in which they were made."""
    catalog = FakeModelCatalog(
        {"one": EchoModel()}, models_after_refresh={"two": EchoModel()}, refresh_gate=anyio.Event()
    )
    async with open_checked_editor(SessionRegistry(make_services(catalog))) as editor:
        session = await editor.new_session()
        choices = [
            editor.start_request("session/set_config_option", option(session, "model", model))
            for model in ("two", "one")
        ]
        await choices[1].response()
        catalog.allow_refresh()
        assert [await choice.response() for choice in choices] == [
            expected.result_response(3, {"configOptions": options(ONE)}),
            expected.result_response(
                4, {"configOptions": options(expected.model_option("one", ("one", "ONE")))}
            ),
        ]


async def test_every_session_is_notified_when_more_models_become_known() -> None:
    """Trap 2, ACP-CONFIG: after the answer to session/new, which does not wait for them."""
    catalog = FakeModelCatalog({"one": EchoModel()}, models_after_refresh={"two": EchoModel()})
    registry = SessionRegistry(make_services(catalog))
    async with open_checked_editor(registry, catalog=catalog) as editor:
        session = await editor.new_session()
        await editor.wait_until(lambda: len(editor.updates) == 2 or None, "options")
        only_one = expected.model_option("one", ("one", "ONE"))
        assert json_at(editor.messages[1], "result", "configOptions") == options(only_one)
        assert editor.messages[2:] == [
            expected.session_update(session, expected.COMMANDS),
            expected.session_update(
                session, {"sessionUpdate": "config_option_update", "configOptions": options(ONE)}
            ),
        ]
        later = await editor.call("session/new", {"cwd": "/", "mcpServers": []})
        assert json_at(later, "result", "configOptions") == options(ONE)
        assert len(editor.updates_of(session)) == 2
