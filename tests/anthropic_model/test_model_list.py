"""The endpoint's list of models: it arrives when it may, delays nobody, and is remembered."""

import json
from pathlib import Path

import anyio
from pydantic import JsonValue

from tests.anthropic_model.model_session import (
    KEY,
    ModelSession,
    ModelSessionConfig,
    open_model_session,
)
from tests.support.editor import json_at
from tests.support.messages_api import MessagesServerConfig, messages_api
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

DEFAULT = "claude-fable-5-2"
UNDECIDED = ModelSessionConfig(model=None)


def option(options: JsonValue, name: str) -> JsonValue:
    """Return one option of a list."""
    assert isinstance(options, list)
    return next((each for each in options if json_at(each, "id") == name), None)


def values(picker: JsonValue) -> list[str]:
    """Return what can be chosen."""
    choices = json_at(picker, "options")
    assert isinstance(choices, list)
    return [str(json_at(choice, "value")) for choice in choices]


async def wait_for_options(session: ModelSession) -> JsonValue:
    """Wait for the options to be sent again."""
    await session.editor.wait_for_response(
        lambda _message: bool(session.updates("config_option_update"))
    )
    return json_at(session.updates("config_option_update")[-1], "configOptions")


def initial_options(session: ModelSession) -> JsonValue:
    """Return the options in the answer to `session/new`."""
    answer = next(m for m in session.editor.messages if "sessionId" in str(m.get("result")))
    return json_at(answer, "result", "configOptions")


async def test_the_model_list_arrives_after_session_creation_and_is_cached(tmp_path: Path) -> None:
    complete = MessagesServerConfig(lists_capabilities=True)
    async with (
        messages_api(endpoint=complete) as api,
        open_model_session(api, tmp_path, UNDECIDED) as session,
    ):
        assert values(option(initial_options(session), "model")) == ["default"]
        assert option(initial_options(session), "thought_level") is None
        options = await wait_for_options(session)
        models = option(options, "model")
        assert values(models)[:2] == [DEFAULT, "claude-haiku-5-5"]
        assert json_at(models, "currentValue") == DEFAULT
        assert values(option(options, "thought_level")) == ["low", "medium", "high", "xhigh", "max"]
        file = tmp_path / "acp" / "models.json"
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while not file.exists():  # noqa: ASYNC110  nobody tells
                await anyio.sleep(0.005)
        assert file.stat().st_mode & 0o777 == 0o600
        assert KEY not in file.read_text()
        assert list(json.loads(file.read_text())) == [api.url]
    async with messages_api() as other, open_model_session(api, tmp_path, UNDECIDED) as session:
        del other
        assert values(option(initial_options(session), "model"))[0] == DEFAULT


async def test_the_default_model_is_the_first_known_one(tmp_path: Path) -> None:
    async with (
        messages_api(["Hello."]) as api,
        open_model_session(api, tmp_path, UNDECIDED) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert api.model_requests[0].body["model"] == DEFAULT
        assert [each.path for each in api.requests].count("/v1/models") == 1


async def test_an_endpoint_whose_model_list_fails_is_reported_as_failing(
    tmp_path: Path,
) -> None:
    config = ModelSessionConfig(model=None, url="http://127.0.0.1:9")
    async with messages_api() as api, open_model_session(api, tmp_path, config) as session:
        response = await session.start_prompt().response()
        assert json_at(response, "error", "data", "kind") == "connection"


async def test_an_endpoint_without_a_model_list_requires_a_configured_model(tmp_path: Path) -> None:
    endpoint = MessagesServerConfig(lists_models=False)
    async with (
        messages_api([], endpoint) as api,
        open_model_session(api, tmp_path, ModelSessionConfig(model=None)) as session,
    ):
        response = await session.start_prompt().response()
        assert "choose a model" in str(response["error"])


async def test_an_endpoint_without_a_model_list_works_with_the_configured_model(
    tmp_path: Path,
) -> None:
    endpoint = MessagesServerConfig(lists_models=False)
    async with (
        messages_api(["Hello."], endpoint) as api,
        open_model_session(api, tmp_path) as session,
    ):
        assert await session.prompt() == "end_turn"


async def test_each_model_has_its_own_thought_levels(tmp_path: Path) -> None:
    async with messages_api(["Hello."]) as api, open_model_session(api, tmp_path) as session:
        await wait_for_options(session)
        found: dict[str, list[str]] = {}
        for model in ("claude-sonnet-5-5", "claude-opus-4-6", "claude-haiku-4-5-20251001"):
            response = await session.editor.call(
                "session/set_config_option",
                {"sessionId": session.session_id, "configId": "model", "value": model},
            )
            options = json_at(response, "result", "configOptions")
            found[model] = values(option(options, "thought_level"))
        assert found == {
            "claude-sonnet-5-5": ["off", "low", "medium", "high", "xhigh", "max"],
            "claude-opus-4-6": ["off", "low", "medium", "high", "max"],
            "claude-haiku-4-5-20251001": ["off", "low", "medium", "high"],
        }
        session.session.context.options.set_option("thought_level", "off")
        assert await session.prompt() == "end_turn"
        assert api.model_requests[0].body["thinking"] == {"type": "disabled"}


async def test_a_corrupt_cached_list_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "acp").mkdir()
    (tmp_path / "acp" / "models.json").write_text('{"x": [{"id"')
    async with (
        messages_api(["Hello."]) as api,
        open_model_session(api, tmp_path, UNDECIDED) as session,
    ):
        assert values(option(initial_options(session), "model")) == ["default"]
        await wait_for_options(session)
