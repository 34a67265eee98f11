"""A request above the context window of a strict endpoint, in every API form."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import cast

import pytest

from acp_server.models.endpoint_catalog import EndpointCatalog
from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.errors import ContextOverflowError
from acp_server.turn.ports import ModelEvent, ModelRequest
from tests.anthropic_model.model_session import ModelSession, ModelSessionConfig, open_model_session
from tests.model_contract.api_forms import FORMS
from tests.support.editor import json_at
from tests.support.messages_api import (
    ErrorEvent,
    FakeApiServer,
    HttpFailure,
    MessagesServerConfig,
    ScriptedTurn,
    StreamFault,
    messages_api,
    reply,
    say,
)
from tests.support.openai_api import OpenAiServerConfig, StreamedError, openai_api
from tests.support.token_count import BYTES_PER_TOKEN

WINDOW = 8_192

pytestmark = pytest.mark.parametrize("form", FORMS)


def serve(
    form: str, *script: ScriptedTurn, window: int | None = WINDOW
) -> AbstractAsyncContextManager[FakeApiServer]:
    """Serve models with a small context window that the client does not know."""
    if form == "messages":
        return messages_api(script, MessagesServerConfig(context_window=window, lists_models=False))
    return openai_api(
        script,
        OpenAiServerConfig(form="chat" if form == "chat" else "responses", context_window=window),
    )


def request_of(size: int) -> ModelRequest:
    """Return a request whose prompt has about this many tokens."""
    return ModelRequest([UserMessage((Text("word " * size),))])


async def ask(session: ModelSession, request: ModelRequest) -> str:
    """Ask the session's model, without a turn."""
    options = session.session.context.options

    async def ignore(event: ModelEvent) -> None:
        del event

    return await options.catalog.model(options.model_id).respond(request, ignore)


async def test_a_request_above_the_window_is_an_overflow_and_is_sent_once(
    tmp_path: Path, form: str
) -> None:
    async with serve(form) as api, open_model_session(api, tmp_path) as session:
        with pytest.raises(ContextOverflowError) as caught:
            await ask(session, request_of(2 * WINDOW))
        assert len(api.model_requests) == 1
        error = caught.value
        if form == "responses":  # the endpoint names no number
            assert (error.limit_tokens, error.request_tokens) == (None, None)
        else:
            assert error.limit_tokens == WINDOW
            assert error.request_tokens is not None
            assert error.request_tokens > WINDOW


async def test_the_window_that_an_overflow_names_is_that_of_the_model_from_then_on(
    tmp_path: Path, form: str
) -> None:
    async with serve(form) as api, open_model_session(api, tmp_path) as session:
        catalog = session.session.context.options.catalog
        model_id = session.session.context.options.model_id
        before = catalog.meter(model_id).window_tokens
        assert before > WINDOW
        with pytest.raises(ContextOverflowError):
            await ask(session, request_of(2 * WINDOW))
        known = before if form == "responses" else WINDOW
        assert catalog.meter(model_id).window_tokens == known


@pytest.mark.parametrize("configured", [None, 32_000])
@pytest.mark.parametrize("window", [8_192, 32_768])
async def test_a_prompt_that_leaves_the_answer_tokens_free_is_accepted(
    tmp_path: Path, form: str, window: int, configured: int | None
) -> None:
    profile = EndpointProfile(max_output_tokens=configured)
    config = ModelSessionConfig(profile=profile, model="" if form == "messages" else "gpt-4.1")
    async with (
        serve(form, *(["Fits."] * 40), window=window) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        options = session.session.context.options
        with pytest.raises(ContextOverflowError) as caught:
            await ask(session, request_of(2 * window))
        # Responses name no limit: the first two forms learn it, here the test tells it.
        catalog = cast("EndpointCatalog", options.catalog)
        catalog.learn_window(options.model_id, caught.value.limit_tokens or window)
        room = window - options.catalog.meter(options.model_id).answer_tokens
        # By the endpoint's rule, five bytes a word and some for the JSON around them.
        fitting = int((room - 40) * BYTES_PER_TOKEN / 5)
        await ask(session, request_of(fitting))
        body = api.model_requests[-1].body
        limit = body.get("max_tokens") or body.get("max_output_tokens")
        assert (limit is None) == (form != "messages" and configured is None)
        assert limit is None or (isinstance(limit, int) and 1_000 < limit <= window / 4)


async def test_a_body_that_is_too_large_is_an_overflow(tmp_path: Path, form: str) -> None:
    turn = HttpFailure(413, type="request_too_large", message="too much")
    async with serve(form, turn, window=None) as api, open_model_session(api, tmp_path) as session:
        with pytest.raises(ContextOverflowError, match="too large"):
            await ask(session, request_of(1))
        assert len(api.model_requests) == 1


async def test_an_overflow_reported_in_the_stream_is_one(tmp_path: Path, form: str) -> None:
    message = "prompt is too long: 9001 tokens > 8192 maximum"
    fault: StreamFault = StreamedError(0, "invalid_request_error", message)
    if form == "messages":
        fault = ErrorEvent(0, "invalid_request_error", message)
    turn = reply(say("Never."), faults=[fault])
    async with serve(form, turn, window=None) as api, open_model_session(api, tmp_path) as session:
        with pytest.raises(ContextOverflowError) as caught:
            await ask(session, request_of(1))
        assert len(api.model_requests) == 1
        assert (caught.value.limit_tokens, caught.value.request_tokens) == (WINDOW, 9_001)


async def test_an_endpoint_with_a_window_reports_the_usage_that_it_counted(
    tmp_path: Path, form: str
) -> None:
    async with (
        serve(form, "One.", "Two.", window=2_000_000) as api,
        open_model_session(api, tmp_path) as session,
    ):
        await session.prompt("word " * 360)
        await session.prompt("word " * 360)
        first, second = (json_at(each, "used") for each in session.updates("usage_update")[-2:])
        assert isinstance(first, int)
        assert isinstance(second, int)
        assert 500 <= second - first <= 600, "1,800 bytes of text and its JSON"


async def test_a_configured_limit_is_sent_under_the_name_that_the_model_accepts(
    tmp_path: Path, form: str
) -> None:
    if form != "chat":
        pytest.skip("only chat completions have two names for it")
    config = ModelSessionConfig(profile=EndpointProfile(max_output_tokens=4_096))
    async with (
        serve(form, "Hello.", "Again.", window=None) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        await session.prompt()
        await session.prompt()
        limits = [
            (ask.body.get("max_tokens"), ask.body.get("max_completion_tokens"))
            for ask in api.model_requests
        ]
        assert limits == [(4_096, None), (None, 4_096), (None, 4_096)], "learned once"
