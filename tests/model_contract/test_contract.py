"""What every adapter of the model port does, whatever form its endpoint speaks."""

import json
from itertools import pairwise
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.turn.conversation import AssistantMessage, Text, ToolCall, UserMessage
from acp_server.turn.loop import REFUSALS
from acp_server.turn.ports import ModelStop
from tests.anthropic_model.model_session import (
    HOST,
    ModelSessionConfig,
    check_history,
    open_model_session,
    stored_text,
)
from tests.anthropic_model.test_cancelling import check_cancelled
from tests.model_contract.api_forms import FORMS, bad_request, make_stream_fault, serve_form
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    CutAfterBytes,
    CutAfterEvents,
    CutInsideCharacter,
    DroppedConnection,
    EndAfterEvents,
    GarbageBytes,
    HoldUntilGate,
    HttpFailure,
    PauseBeforeEvent,
    ResponseGate,
    ScriptedReply,
    ScriptedTurn,
    StreamFault,
    TrickledBytes,
    bad_gateway,
    call,
    huge_event,
    pings,
    rate_limited,
    reply,
    say,
    server_error,
    think,
    unavailable,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import (
    CANCELLED_BY_USER,
    CHOOSE_ANOTHER_MODEL,
    CONTINUING,
    DOES_NOT_PERMIT,
    NO_ANSWER_IN_TIME,
)

LONG_TEXT = "First I look at it, then I write it down for you."

pytestmark = pytest.mark.parametrize("form", FORMS)


def rich_reply(*faults: StreamFault) -> ScriptedReply:
    """Return thinking, text and two calls."""
    blocks = think("What is asked for here?"), say(LONG_TEXT)
    calls = call("note", text="a thing to remember"), call("look", text="where")
    return reply(*blocks, *calls, faults=faults, chunk_characters=8)


async def test_a_complete_turn_thinks_speaks_makes_parallel_calls_and_continues(
    tmp_path: Path, form: str
) -> None:
    async with (
        serve_form(form, [rich_reply(), "Done."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert session.thoughts() == "What is asked for here?"
        assert session.agent_text() == f"{LONG_TEXT}Done."
        assert [run.name for run in session.tools.target_subcommands] == ["note", "look"]
        assert [run.arguments for run in session.tools.target_subcommands] == [
            '{"text": "a thing to remember"}',
            '{"text": "where"}',
        ]
        assert [ask.verdict for ask in api.model_requests] == ["answered", "answered"]
        check_history(session.history())
        usage = session.updates("usage_update")
        assert json_at(usage[-1], "size") == (1_000_000 if form == "messages" else 200_000)
        assert ("cost" in str(usage[-1])) == (form == "messages"), "no price is not a price of 0"


async def test_arguments_are_streamed_as_they_are_generated(tmp_path: Path, form: str) -> None:
    gate = ResponseGate()
    text = "one line\n" * 40
    script = [reply(call("note", text=text), faults=[HoldUntilGate(15, gate)]), "Done."]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        await session.wait_until_translated(14)
        await anyio.wait_all_tasks_blocked()
        appeared = session.updates("tool_call")
        assert len(appeared) == 1, "the call is shown before its arguments are whole"
        assert session.tools.target_subcommands == []
        gate.open()
        assert json_at(await pending.response(), "result", "stopReason") == "end_turn"


async def test_each_request_starts_with_the_previous_one(tmp_path: Path, form: str) -> None:
    script = [rich_reply(), rich_reply(), "Done.", "And done."]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        await session.prompt()
        await session.prompt("more")
        name = "input" if form == "responses" else "messages"
        histories = [_unmarked(ask.body[name]) for ask in api.model_requests]
        for earlier, later in pairwise(histories):
            assert later[: len(earlier)] == earlier
        heads = [_head(ask.body, name) for ask in api.model_requests]
        assert heads == [heads[0]] * len(heads)


def _head(body: Object, conversation: str) -> Object:
    """Return what stands beside the conversation, without what is left of the window."""
    return {k: v for k, v in body.items() if k not in {conversation, "max_tokens", "system"}}


def _unmarked(value: JsonValue) -> list[JsonValue]:
    """Return messages without the marks of the cache, which wander."""
    assert isinstance(value, list)
    return [_without_mark(each) for each in value]


def _without_mark(value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        return {k: _without_mark(v) for k, v in value.items() if k != "cache_control"}
    return [_without_mark(each) for each in value] if isinstance(value, list) else value


@pytest.mark.parametrize("stop", ["refusal", "content_filter"])
async def test_a_refusal_and_a_content_filter_each_end_with_their_own_message(
    tmp_path: Path, form: str, stop: ModelStop
) -> None:
    if form == "messages" and stop == "content_filter":
        pytest.skip("the Messages API has no content filter of its own")
    turn = ScriptedReply((say("So far"),), stop_reason=stop)  # pyright: ignore[reportArgumentType]  one of them
    async with serve_form(form, [turn]) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "refusal"
        assert session.notices() == [REFUSALS[stop]]


@pytest.mark.parametrize("stop", ["max_tokens", "refusal"])
async def test_the_stop_reason_is_translated_for_the_client(
    tmp_path: Path, form: str, stop: str
) -> None:
    turn = ScriptedReply((say("So far"),), stop_reason=stop)  # pyright: ignore[reportArgumentType]  one of them
    script = [turn] * (4 if stop == "max_tokens" else 1)
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == stop
        check_history(session.history())


# Cancelling.


async def test_a_turn_can_be_cancelled_before_the_first_byte(tmp_path: Path, form: str) -> None:
    script = [reply("never", head_gate=ResponseGate())]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        while not api.model_requests:
            await api.wait_for_requests(len(api.requests) + 1)
        session.cancel()
        await check_cancelled(session, api, pending)


async def test_a_turn_can_be_cancelled_while_a_tool_runs(tmp_path: Path, form: str) -> None:
    async with serve_form(form, [rich_reply()]) as api, open_model_session(api, tmp_path) as chat:
        chat.tools.allowed_to_end = anyio.Event()
        pending = chat.start_prompt()
        await chat.tools.started.wait()
        chat.cancel()
        await check_cancelled(chat, api, pending)
        assert CANCELLED_BY_USER in str(api.model_requests[-1].body)


async def test_a_turn_can_be_cancelled_during_a_retry_delay(tmp_path: Path, form: str) -> None:
    config = ModelSessionConfig(retry_seconds=60)
    async with (
        serve_form(form, [server_error()]) as api,
        open_model_session(api, tmp_path, config) as chat,
    ):
        pending = chat.start_prompt()
        await chat.editor.wait_for_response(lambda _message: "retrying in" in str(chat.notices()))
        chat.cancel()
        await check_cancelled(chat, api, pending)


# What goes wrong.

QUOTA_ERROR: JsonValue = {
    "error": {
        "message": "You exceeded your current quota, please check your plan.",
        "type": "insufficient_quota",
        "code": "insufficient_quota",
    }
}
PASSING: dict[str, ScriptedTurn] = {
    "408": HttpFailure(408, message="Request timeout"),
    "429": rate_limited(),
    "429 with retry-after": rate_limited(0.01),
    "429 with retry-after nan": rate_limited(float("nan")),
    "429 with retry-after inf": rate_limited(float("inf")),
    "429 until a date in the past": HttpFailure(
        429, message="slow", retry_after_date="Wed, 21 Oct 2015 07:28:00 GMT"
    ),
    "429 until no date": HttpFailure(429, message="slow", retry_after_date="soon"),
    "500": server_error(),
    "502": bad_gateway(),
    "503": unavailable(),
    "529": HttpFailure(529, message="Overloaded"),
    "vanish": DroppedConnection(),
}
LASTING: dict[str, tuple[ScriptedTurn, str, str]] = {
    "401": (HttpFailure(401, message="bad key"), "authentication", "`acp-server setup"),
    "402": (HttpFailure(402, message="Your credit is too low"), "permission", "credit"),
    "403": (HttpFailure(403, message="not yours"), "permission", DOES_NOT_PERMIT),
    "404": (HttpFailure(404, message="no model"), "unknown", CHOOSE_ANOTHER_MODEL),
    "429 for an hour": (rate_limited(3600), "rate_limit", "wait 3600 s"),
    "429 until a date": (
        HttpFailure(429, message="slow", retry_after_date="Wed, 21 Oct 2105 07:28:00 GMT"),
        "rate_limit",
        "asks you to wait",
    ),
    "429 without quota": (
        HttpFailure(429, json.dumps(QUOTA_ERROR).encode()),
        "permission",
        "add credit or raise the limit",
    ),
    "400 without credit": (
        HttpFailure(400, message="Your credit balance is too low to access the API."),
        "permission",
        "add credit or raise the limit",
    ),
}
CUTS: dict[str, StreamFault] = {
    "cut after events": CutAfterEvents(6),
    "cut after bytes": CutAfterBytes(1200),
    "end without an end": EndAfterEvents(6),
    "garbage": GarbageBytes(6, b"data: {nothing of ours\n\n"),
}
HARMLESS: dict[str, StreamFault] = {
    "drip": TrickledBytes(40, 0),
    "pings": pings(3),
    "huge": huge_event(3, 500_000),
    "hang": PauseBeforeEvent(5, 0.05),
}


@pytest.mark.parametrize("name", PASSING)
async def test_a_transient_error_is_reported_and_retried(
    tmp_path: Path, form: str, name: str
) -> None:
    script = [PASSING[name], PASSING[name], "Here I am."]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await session.prompt() == "end_turn"
        assert session.agent_text() == "Here I am."
        first, second = session.notices()
        assert first.endswith("retrying in a moment (attempt 1 of 3)")
        assert second.endswith("(attempt 2 of 3)")
        assert HOST in first
        assert "<" not in first, "no HTML in front of people"
        assert [ask.body for ask in api.model_requests[1:]] == [api.model_requests[0].body] * 2
        check_history(session.history())


@pytest.mark.parametrize("name", LASTING)
async def test_a_permanent_error_ends_the_turn_immediately(
    tmp_path: Path, form: str, name: str
) -> None:
    turn, kind, message = LASTING[name]
    async with serve_form(form, [turn]) as api, open_model_session(api, tmp_path) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            data = await session.prompt_expecting_error()
        assert len(api.model_requests) == 1
        assert data["kind"] == kind
        assert message in str(data["details"])
        assert "test-key" not in str(session.editor.messages)
        check_history(session.history())
        api.add("Here I am.")
        assert await session.prompt("again") == "end_turn"


async def test_a_bad_request_is_reported_once(tmp_path: Path, form: str) -> None:
    script = [bad_request(form, "messages: something is wrong")]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        data = await session.prompt_expecting_error()
        assert len(api.model_requests) == 1
        assert "something is wrong" in str(data["details"])


@pytest.mark.parametrize("name", CUTS)
async def test_a_truncated_answer_continues_under_the_same_id(
    tmp_path: Path, form: str, name: str
) -> None:
    truncated = reply(say(LONG_TEXT * 3), faults=[CUTS[name]])
    async with (
        serve_form(form, [truncated, "and so on."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await session.prompt() == "end_turn"
        assert session.agent_text().endswith("and so on.")
        assert len(session.message_ids()) == 1
        assert CONTINUING in str(session.notices())
        assert stored_text(session.history()) == session.agent_text()
        assert api.model_requests[-1].verdict == "answered"
        check_history(session.history())


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_stream_is_continued_as_often_as_requests_are_retried(
    tmp_path: Path, form: str, retries: int
) -> None:
    cut = reply(say(LONG_TEXT * 3), faults=[CutAfterEvents(6)])
    config = ModelSessionConfig(retries=retries)
    async with (
        serve_form(form, [cut] * 9) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        assert (await session.prompt_expecting_error())["kind"] == "connection"
        assert len(api.model_requests) == retries + 1
        check_history(session.history())


async def test_an_endpoint_that_fails_mid_stream_is_asked_to_continue(
    tmp_path: Path, form: str
) -> None:
    failing = reply(say(LONG_TEXT), faults=[make_stream_fault(form, 5)])
    async with (
        serve_form(form, [failing, "and so on."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert session.agent_text().endswith("and so on.")
        assert api.model_requests[-1].verdict == "answered"


async def test_a_stream_truncated_inside_a_character_is_handled(tmp_path: Path, form: str) -> None:
    truncated = reply(say("Äpfel, Birnen und ein 🙂 dazu"), faults=[CutInsideCharacter("🙂")])
    async with (
        serve_form(form, [truncated, " weiter"]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert session.agent_text().endswith(" weiter")
        assert "\ufffd" not in session.agent_text()
        assert api.model_requests[-1].verdict == "answered"


@pytest.mark.parametrize("name", HARMLESS)
async def test_faults_a_client_must_tolerate_do_not_change_the_answer(
    tmp_path: Path, form: str, name: str
) -> None:
    script = [rich_reply(HARMLESS[name]), "Done."]
    async with serve_form(form, script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert session.agent_text() == f"{LONG_TEXT}Done."
        assert len(session.tools.target_subcommands) == 2
        assert session.notices() == []


async def test_a_silent_endpoint_times_out(tmp_path: Path, form: str) -> None:
    config = ModelSessionConfig(read_timeout_seconds=0.2, retries=0)
    silent = reply("never", head_gate=ResponseGate())
    async with serve_form(form, [silent]) as api, open_model_session(api, tmp_path, config) as chat:
        assert NO_ANSWER_IN_TIME in str((await chat.prompt_expecting_error())["details"])


async def test_an_endpoint_that_refuses_connections_is_named(tmp_path: Path, form: str) -> None:
    async with (
        serve_form(form, []) as api,
        open_model_session(api, tmp_path, ModelSessionConfig(retries=1)) as session,
    ):
        await api.stop_listening()
        data = await session.prompt_expecting_error()
        assert data["kind"] == "connection"
        assert f"the connection to {HOST} failed" in str(data["details"])


async def test_a_response_that_is_not_a_stream_is_reported(tmp_path: Path, form: str) -> None:
    if form == "messages":
        pytest.skip("its SDK reads events whatever they are called")
    page = reply("Hello.", content_type="text/html")
    async with serve_form(form, [page]) as api, open_model_session(api, tmp_path) as chat:
        assert "instead of an event stream" in str((await chat.prompt_expecting_error())["details"])


async def test_missing_credentials_require_signing_in(tmp_path: Path, form: str) -> None:
    """Without a key an endpoint that may need none is asked; what it says then is told."""
    async with (
        serve_form(form, []) as api,
        open_model_session(api, tmp_path, ModelSessionConfig(api_key=None)) as session,
    ):
        response = await session.start_prompt().response()
        code = json_at(response["error"], "code")
        assert code == (-32000 if form == "messages" else -32603)
        assert "`acp-server setup" in str(json_at(response["error"], "data", "details"))


async def test_the_model_list_becomes_config_options(tmp_path: Path, form: str) -> None:
    async with serve_form(form, ["Hello."]) as api, open_model_session(api, tmp_path) as session:
        await session.editor.wait_for_response(
            lambda _: "config_option_update" in str(session.editor.messages)
        )
        known = "claude-opus-5" if form == "messages" else "gpt-4.1"
        choices = next(
            option for option in session.session.context.options.options if option.id == "model"
        ).values
        names = [choice.value for choice in choices]
        assert known in names
        assert "text-embedding-3-small" not in names


async def test_tool_calls_of_a_cancelled_turn_are_sent_back_with_results(
    tmp_path: Path, form: str
) -> None:
    async with (
        serve_form(form, [rich_reply(), "Then not."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        session.tools.allowed_to_end = anyio.Event()
        pending = session.start_prompt()
        await session.tools.started.wait()
        session.cancel()
        await pending.response()
        assert await session.prompt("go on") == "end_turn"
        prompt, replied, results, *_ = session.history()
        assert prompt == UserMessage((Text("hi"),))
        assert isinstance(replied, AssistantMessage)
        assert isinstance(results, UserMessage)
        assert sum(isinstance(part, ToolCall) for part in replied.parts) == 2
        assert api.model_requests[-1].verdict == "answered"


@pytest.mark.parametrize("status", [302, 307])
async def test_a_redirect_to_another_origin_gets_neither_conversation_nor_key(
    tmp_path: Path, form: str, status: int
) -> None:
    async with serve_form(form, ["Hello."]) as other:
        redirect = HttpFailure(status, b"", location=f"{other.url}/elsewhere")
        async with (
            serve_form(form, [redirect]) as api,
            open_model_session(api, tmp_path) as session,
        ):
            failure = await session.prompt_expecting_error("a secret plan")
            assert f"redirects to {other.url}/elsewhere, and nothing was sent there" in str(failure)
            assert len(api.model_requests) == 1
        assert other.requests == ()
