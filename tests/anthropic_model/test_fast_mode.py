"""Fast mode of Claude: offered, requested, priced and given up, in the complete server."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

import pytest
from pydantic import JsonValue

from acp_server.models.anthropic.fast_mode import PAUSE_SECONDS, FastMode, fast_mode_headers
from acp_server.models.anthropic.stream import MessageStream
from acp_server.models.failures import ProviderFailure
from acp_server.models.families import family_for
from tests.anthropic_model.model_session import ModelSession, ModelSessionConfig, open_model_session
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    FakeApiServer,
    HttpFailure,
    MessagesServerConfig,
    RecordedRequest,
    fast_mode_limited,
    forbidden,
    messages_api,
    overloaded,
)

BETA = "fast-mode-2026-02-01"
FAST = ModelSessionConfig(fast_mode=True)


def speeds(api: FakeApiServer) -> list[JsonValue]:
    return [request.body.get("speed") for request in api.model_requests]


def betas(request: RecordedRequest) -> str:
    return request.headers.get("anthropic-beta", "")


async def set_option(session: ModelSession, **value: JsonValue) -> JsonValue:
    params: Object = {"sessionId": session.session_id, "configId": "fast_mode", **value}
    response = await session.editor.call("session/set_config_option", params)
    return json_at(response, "result", "configOptions")


def fast_option(options: JsonValue) -> Mapping[str, JsonValue] | None:
    found = cast("list[Object]", options)
    return next((option for option in found if option["id"] == "fast_mode"), None)


def shown_fast_option(session: ModelSession) -> Mapping[str, JsonValue] | None:
    """The option in the last update of all options."""
    return fast_option(json_at(session.updates("config_option_update")[-1], "configOptions"))


async def test_a_client_without_switches_selects_on_or_off(tmp_path: Path) -> None:
    async with (
        messages_api(["One.", "Two.", "Three."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        await session.prompt()
        option = fast_option(await set_option(session, value="on"))
        await session.prompt()
        await set_option(session, value="off")
        await session.prompt()
        assert option == {
            "id": "fast_mode",
            "name": "Fast mode",
            "description": "Up to 2.5 times as fast, at 2 times the price: $8 in, $40 out per "
            "million tokens",
            "category": "model_config",
            "type": "select",
            "currentValue": "on",
            "options": [
                {"value": "off", "name": "Off", "description": "Normal speed and price"},
                {
                    "value": "on",
                    "name": "On",
                    "description": "Up to 2.5 times as fast, at 2 times the price: $8 in, $40 out "
                    "per million tokens",
                },
            ],
        }
        assert speeds(api) == [None, "fast", None]


async def test_a_client_with_switches_gets_a_boolean(tmp_path: Path) -> None:
    config = ModelSessionConfig(shows_switches=True)
    async with messages_api(["One."]) as api, open_model_session(api, tmp_path, config) as session:
        option = fast_option(await set_option(session, type="boolean", value=True))
        await session.prompt()
        assert option is not None
        assert (option["type"], option["currentValue"]) == ("boolean", True)
        assert "options" not in option
        assert speeds(api) == ["fast"]


@pytest.mark.parametrize(
    ("model", "header"),
    [("claude-opus-5-5", ""), ("claude-fable-5-2", ""), ("claude-opus-5", BETA)],
)
async def test_only_models_in_preview_need_the_beta_header(
    tmp_path: Path, model: str, header: str
) -> None:
    config = ModelSessionConfig(model=model, fast_mode=True)
    async with (
        messages_api(["Hello."]) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert (speeds(api), betas(api.model_requests[0])) == (["fast"], header)


@pytest.mark.parametrize("model", ["claude-sonnet-5-5", "claude-opus-4-7", "claude-opus-5-fast"])
async def test_a_model_without_fast_mode_has_no_option(tmp_path: Path, model: str) -> None:
    config = ModelSessionConfig(model=model, fast_mode=True)
    async with messages_api([]) as api, open_model_session(api, tmp_path, config) as session:
        options = session.session.context.options
        assert "fast_mode" not in {option.id for option in options.options}
        assert not options.is_fast


async def test_fast_mode_costs_twice_as_much_and_has_a_cache_of_its_own(tmp_path: Path) -> None:
    async with (
        messages_api(["One.", "Two.", "Three."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        costs: list[float] = []
        for word in ("off", "on", "on"):
            await set_option(session, value=word)
            await session.prompt()
            costs.append(session.session.context.totals.cost_usd or 0.0)
        read = [request.usage.input.read for request in api.model_requests if request.usage]
        assert read[1] == 0
        assert read[2] > 0
        usages = [request.usage for request in api.model_requests]
        assert usages[1] is not None
        second = usages[1]
        expected = (
            2
            * (second.input.uncached * 4 + second.output * 20 + second.input.written_5m * 5)
            / 1_000_000
        )
        assert costs[1] - costs[0] == pytest.approx(expected)


def test_the_beta_header_keeps_the_names_that_every_request_has() -> None:
    family = family_for("claude-opus-5")
    given = {"Anthropic-Beta": "oauth-2025-04-20, other", "x-api-key": "k"}
    assert fast_mode_headers(family, given) == {"anthropic-beta": f"oauth-2025-04-20,other,{BETA}"}
    assert fast_mode_headers(family_for("claude-opus-5-5"), given) == {}


def test_the_answer_says_which_speed_is_paid() -> None:
    """A gateway that ignores the field reports no speed: then what was asked for is assumed."""

    def start(usage: str) -> str:
        return f'{{"type":"message_start","message":{{"usage":{usage}}}}}'

    found: list[bool] = []
    for usage in ('{"speed":"standard"}', '{"speed":"fast"}', "{}"):
        message = MessageStream(str, is_fast=True)
        message.translate(start(usage))
        found.append(message.usage.is_fast)
    assert found == [False, True, True]


REFUSALS = {
    "no access": (fast_mode_limited(0), "your organization has no access to it"),
    "gateway": (
        HttpFailure(
            400,
            type="invalid_request_error",
            message="speed: Extra inputs are not permitted",
        ),
        "127.0.0.1 refused the request: speed: Extra inputs are not permitted",
    ),
}


@pytest.mark.parametrize(("failure", "reason"), REFUSALS.values(), ids=REFUSALS.keys())
async def test_a_refusal_is_told_once_and_the_work_goes_on(
    tmp_path: Path, failure: HttpFailure, reason: str
) -> None:
    async with (
        messages_api([failure, "One.", "Two."]) as api,
        open_model_session(api, tmp_path, FAST) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert await session.prompt() == "end_turn"
        assert session.agent_text() == "One.Two."
        assert speeds(api) == ["fast", None, None]
        await session.prompt("/fast on")
        assert "There is no fast mode of `claude-opus-5-5` here." in session.agent_text()
        told = f"Fast mode cannot be used: {reason}; the work goes on at normal speed"
        assert session.notices() == [told]
        assert shown_fast_option(session) is None


@pytest.mark.parametrize(
    "failure", [fast_mode_limited(), fast_mode_limited(retry_after_seconds=60), overloaded()]
)
async def test_a_limit_pauses_fast_mode(tmp_path: Path, failure: HttpFailure) -> None:
    async with (
        messages_api([failure, "One.", "Two."]) as api,
        open_model_session(api, tmp_path, FAST) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert await session.prompt() == "end_turn"
        assert speeds(api) == ["fast", None, None]
        (notice,) = session.notices()
        assert notice.startswith("Fast mode is off for now: it")
        assert session.session.context.options.is_fast  # the choice stays


async def test_a_short_wait_is_cheaper_than_another_cache(tmp_path: Path) -> None:
    failure = fast_mode_limited(retry_after_seconds=0.004)
    async with (
        messages_api([failure, "One."]) as api,
        open_model_session(api, tmp_path, FAST) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert speeds(api) == ["fast", "fast"]


async def test_an_endpoint_that_knows_no_fast_mode_answers_all_the_same(tmp_path: Path) -> None:
    endpoint = MessagesServerConfig(knows_fast_mode=False)
    async with (
        messages_api(["One."], endpoint) as api,
        open_model_session(api, tmp_path, FAST) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert (speeds(api), session.agent_text()) == (["fast", None], "One.")


async def test_other_failures_are_none_of_fast_mode(tmp_path: Path) -> None:
    async with (
        messages_api([forbidden()]) as api,
        open_model_session(api, tmp_path, FAST) as session,
    ):
        await session.prompt_expecting_error()
        assert speeds(api) == ["fast"]


def test_fast_mode_is_asked_for_again_after_the_pause() -> None:
    now = 0.0
    mode = FastMode(lambda: now)
    failure = ProviderFailure("limited", "rate_limit", is_temporary=True)
    assert mode.stop_after(failure, {})
    assert mode.stopped is not None
    now = PAUSE_SECONDS
    assert mode.stopped is None


async def test_the_command_switches_and_explains(tmp_path: Path) -> None:
    async with messages_api(["One."]) as api, open_model_session(api, tmp_path) as session:
        for command in ("/fast", "/fast on", "/fast slow", "/fast off"):
            await session.prompt(command)
        assert session.agent_text() == (
            "Fast mode is on. Up to 2.5 times as fast, at 2 times the price: $8 in, $40 out per "
            "million tokens. The provider caches prompts for each speed separately, so the next "
            "request has to write the conversation to the cache again."
            "Fast mode is on. Up to 2.5 times as fast, at 2 times the price: $8 in, $40 out per "
            "million tokens."
            "`slow` is neither `on` nor `off`."
            "Fast mode is off. The provider caches prompts for each speed separately, so the next "
            "request has to write the conversation to the cache again."
        )
        option = shown_fast_option(session)
        assert option is not None
        assert option["currentValue"] == "off"
