"""Choosing who answers and how deeply it thinks; models that become known later."""

import anyio
from pydantic import JsonValue

from acp_server.session.registry import SessionRegistry
from tests.handlers import expected
from tests.handlers.checked_editor import open_checked_editor
from tests.handlers.fake_models import Echo
from tests.support.editor import at
from tests.support.server_parts import Shelf, equipment
from tests.turn.turn_harness import Playing, Round

LEVELS = (("low", "Low"), ("high", "High"))
MODE = expected.config_options("ask")


def option(session: str, config_id: str, value: str) -> JsonValue:
    return {"sessionId": session, "configId": config_id, "value": value}


def options(model: JsonValue, *more: JsonValue) -> JsonValue:
    return [at(MODE, 0), model, *more]


ONE = expected.model_option("one", ("one", "ONE"), ("two", "TWO"))
TWO = expected.model_option("two", ("one", "ONE"), ("two", "TWO"))


async def test_the_options_are_mode_model_and_thought_level_in_this_order() -> None:
    """ACP-CONFIG: in the order of their importance."""
    shelf = Shelf({"one": Echo(), "two": Echo()}, levels={"one": ("low", "high")})
    async with open_checked_editor(SessionRegistry(equipment(shelf))) as editor:
        answer = await editor.call("session/new", {"cwd": "/", "mcpServers": []})
        assert at(answer, "result", "configOptions") == options(
            ONE, expected.thought_option("high", *LEVELS)
        )


async def test_choosing_a_model_changes_the_levels_with_it_in_the_same_answer() -> None:
    """Trap 15, ACP-CONFIG: all options, always; nothing else is sent."""
    shelf = Shelf({"one": Echo(), "two": Echo()}, levels={"one": ("low", "high")})
    async with open_checked_editor(SessionRegistry(equipment(shelf))) as editor:
        session = await editor.new_session()
        answers = [
            await editor.call("session/set_config_option", option(session, *choice))
            for choice in (("thought_level", "low"), ("model", "two"), ("model", "one"))
        ]
        low = expected.thought_option("low", *LEVELS)
        assert answers == [
            expected.result(3, {"configOptions": options(ONE, low)}),
            expected.result(4, {"configOptions": options(TWO)}),
            expected.result(5, {"configOptions": options(ONE, low)}),
        ]
        assert editor.updates_of(session) == [expected.COMMANDS]


async def test_the_chosen_model_is_asked_from_the_next_prompt_on() -> None:
    """Trap 15, ACP-CONFIG: a running turn goes on with what it has."""
    first, second = Playing(Round((), None), Round()), Playing(Round())
    shelf = Shelf({"one": first, "two": second}, levels={"two": ("low", "high")})
    async with open_checked_editor(SessionRegistry(equipment(shelf))) as editor:
        session = await editor.new_session()
        running = editor.begin_prompt(session, "hi")
        await first.hangs.wait()
        await editor.call("session/set_config_option", option(session, "model", "two"))
        await editor.call("session/set_config_option", option(session, "thought_level", "low"))
        assert not running.is_answered
        editor.cancel(session)
        await editor.prompt(session, "hi")
    assert [request.thought_level for request in first.requests] == [None]
    assert [request.thought_level for request in second.requests] == ["low"]


async def test_an_unknown_model_or_level_is_refused_with_those_that_there_are() -> None:
    """ACP-CONFIG."""
    shelf = Shelf({"one": Echo(), "two": Echo()}, levels={"one": ("low", "high")})
    async with open_checked_editor(SessionRegistry(equipment(shelf))) as editor:
        session = await editor.new_session()
        answers = [
            await editor.call("session/set_config_option", option(session, *choice))
            for choice in (("model", "three"), ("thought_level", "deep"))
        ]
        assert answers == [
            expected.invalid_params(3, "'three' is not a value of 'model'; choose one of one, two"),
            expected.invalid_params(
                4, "'deep' is not a value of 'thought_level'; choose one of low, high"
            ),
        ]


async def test_a_model_is_chosen_before_its_list_has_come() -> None:
    """ACP-CONFIG: an editor that remembers a model asks for it at once."""
    shelf = Shelf({"one": Echo()}, coming={"two": Echo()}, may_come=anyio.Event())
    async with open_checked_editor(SessionRegistry(equipment(shelf))) as editor:
        session = await editor.new_session()
        choice = editor.begin("session/set_config_option", option(session, "model", "two"))
        await anyio.wait_all_tasks_blocked()
        assert not choice.is_answered
        shelf.allow()
        assert await choice.response() == expected.result(3, {"configOptions": options(TWO)})


async def test_an_unknown_model_is_refused_once_the_list_has_come() -> None:
    """ACP-CONFIG."""
    shelf = Shelf({"one": Echo()}, coming={"two": Echo()}, may_come=anyio.Event())
    async with open_checked_editor(SessionRegistry(equipment(shelf))) as editor:
        session = await editor.new_session()
        choice = editor.begin("session/set_config_option", option(session, "model", "three"))
        shelf.allow()
        assert await choice.response() == expected.invalid_params(
            3, "'three' is not a value of 'model'; choose one of one, two"
        )


async def test_the_model_that_was_asked_for_last_is_chosen_though_another_comes_later() -> None:
    """Trap 15, ACP-CONFIG: choices hold in the order in which they were made."""
    shelf = Shelf({"one": Echo()}, coming={"two": Echo()}, may_come=anyio.Event())
    async with open_checked_editor(SessionRegistry(equipment(shelf))) as editor:
        session = await editor.new_session()
        choices = [
            editor.begin("session/set_config_option", option(session, "model", model))
            for model in ("two", "one")
        ]
        await choices[1].response()
        shelf.allow()
        assert [await choice.response() for choice in choices] == [
            expected.result(3, {"configOptions": options(ONE)}),
            expected.result(
                4, {"configOptions": options(expected.model_option("one", ("one", "ONE")))}
            ),
        ]


async def test_every_session_is_told_when_more_models_become_known() -> None:
    """Trap 2, ACP-CONFIG: after the answer to session/new, which does not wait for them."""
    shelf = Shelf({"one": Echo()}, coming={"two": Echo()})
    registry = SessionRegistry(equipment(shelf))
    async with open_checked_editor(registry, catalog=shelf) as editor:
        session = await editor.new_session()
        await editor.wait_until(lambda: len(editor.updates) == 2 or None, "options")
        only_one = expected.model_option("one", ("one", "ONE"))
        assert at(editor.messages[1], "result", "configOptions") == options(only_one)
        assert editor.messages[2:] == [
            expected.update(session, expected.COMMANDS),
            expected.update(
                session, {"sessionUpdate": "config_option_update", "configOptions": options(ONE)}
            ),
        ]
        later = await editor.call("session/new", {"cwd": "/", "mcpServers": []})
        assert at(later, "result", "configOptions") == options(ONE)
        assert len(editor.updates_of(session)) == 2
