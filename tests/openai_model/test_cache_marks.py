"""Claude behind a gateway that speaks chat completions: what is cached there is what is marked."""

import json
from functools import partial
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from prompt_engine.cache_control import TimeToLive, add_cache_breakpoints
from tests.anthropic_model.model_session import ModelSessionConfig, open_model_session
from tests.support.editor import json_at
from tests.support.messages_api import call, reply, say, think
from tests.support.openai_api import OpenAiServerConfig, ServedModel, openai_api

CLAUDE = "anthropic/claude-opus-4.6"
SCRIPT = (
    reply(think("Hm."), say("I look."), call("look", text="a"), call("note", text="b")),
    reply(call("look", text="c")),
    "Done.",
    "Done again.",
)


def endpoint(*, takes_marks: bool) -> OpenAiServerConfig:
    models = (ServedModel(CLAUDE, can_reason=True), ServedModel("gpt-5.1", can_reason=True))
    return OpenAiServerConfig(models=models, accepts_cache_control=takes_marks)


def make_config(model: str = CLAUDE, ttl: TimeToLive = "5m") -> ModelSessionConfig:
    profile = EndpointProfile(
        effort="object",
        cache_marked_models=("anthropic/",),
        cache_marker=partial(add_cache_breakpoints, ttl=ttl),
    )
    return ModelSessionConfig(model=model, profile=profile)


def marker_positions(body: JsonValue) -> list[int]:
    """Return which messages of a request carry a mark."""
    messages = json_at(body, "messages")
    assert isinstance(messages, list)
    return [index for index, each in enumerate(messages) if "cache_control" in json.dumps(each)]


def unmarked(body: JsonValue) -> list[str]:
    """Return the messages of a request as bytes, apart from the marks."""
    written = json.dumps(json_at(body, "messages"))
    for sign in (', "cache_control": {"type": "ephemeral"}',):
        written = written.replace(sign, "")
    messages: list[JsonValue] = json.loads(written)
    return [json.dumps(each) for each in messages]


async def test_cache_markers_follow_the_system_text_and_the_ends_of_requests(
    tmp_path: Path,
) -> None:
    async with (
        openai_api(SCRIPT, endpoint(takes_marks=True)) as api,
        open_model_session(api, tmp_path, make_config()) as session,
    ):
        assert [await session.prompt(), await session.prompt("more")] == ["end_turn", "end_turn"]
        # system, user / reply, two results / reply, one result / reply, user
        assert [marker_positions(ask.body) for ask in api.model_requests] == [
            [0, 1],
            [0, 1, 4],
            [0, 1, 4, 6],
            [0, 4, 6, 8],
        ]
        for before, after in zip(api.model_requests, api.model_requests[1:], strict=False):
            assert unmarked(after.body)[: len(unmarked(before.body))] == unmarked(before.body)


async def test_a_one_hour_cache_marker_states_its_ttl(tmp_path: Path) -> None:
    async with (
        openai_api(["Hello."], endpoint(takes_marks=True)) as api,
        open_model_session(api, tmp_path, make_config(ttl="1h")) as session,
    ):
        await session.prompt()
        last = json_at(api.model_requests[0].body, "messages", 1, "content", 0, "cache_control")
        assert last == {"type": "ephemeral", "ttl": "1h"}


async def test_other_models_of_the_gateway_get_no_cache_markers(tmp_path: Path) -> None:
    async with (
        openai_api(["Hello."], endpoint(takes_marks=False)) as api,
        open_model_session(api, tmp_path, make_config("gpt-5.1")) as session,
    ):
        await session.prompt()
        assert marker_positions(api.model_requests[0].body) == []
        assert json_at(api.model_requests[0].body, "messages", 1, "content") == "hi"


async def test_a_gateway_that_rejects_cache_markers_is_retried_without_them(tmp_path: Path) -> None:
    async with (
        openai_api(SCRIPT, endpoint(takes_marks=False)) as api,
        open_model_session(api, tmp_path, make_config()) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert [ask.verdict for ask in api.model_requests] == ["refused", *["answered"] * 3]


@pytest.mark.parametrize("ends_in_picture", [True, False])
async def test_an_image_carries_no_cache_marker(tmp_path: Path, *, ends_in_picture: bool) -> None:
    picture: JsonValue = {"type": "image", "mimeType": "image/png", "data": "aGk="}
    text: JsonValue = {"type": "text", "text": "what is this?"}
    async with (
        openai_api(["A dot."], endpoint(takes_marks=True)) as api,
        open_model_session(api, tmp_path, make_config()) as chat,
    ):
        blocks: list[JsonValue] = [text, picture] if ends_in_picture else [picture, text]
        await chat.editor.call("session/prompt", {"sessionId": chat.session_id, "prompt": blocks})
        assert [ask.verdict for ask in api.model_requests] == ["answered"]
        assert marker_positions(api.model_requests[0].body) == ([0] if ends_in_picture else [0, 1])
