"""What goes wrong before an answer begins: asked again or told, and always over in time."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest

from tests.anthropic_model.model_session import (
    HOST,
    ModelSessionConfig,
    check_history,
    open_model_session,
)
from tests.support.messages_api import (
    DroppedConnection,
    HttpFailure,
    ResponseGate,
    ScriptedTurn,
    bad_gateway,
    bad_request,
    forbidden,
    messages_api,
    not_found,
    overloaded,
    rate_limited,
    reply,
    server_error,
    unauthorized,
    unavailable,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import CHOOSE_ANOTHER_MODEL, DOES_NOT_PERMIT, NO_ANSWER_IN_TIME

TIMEOUT = HttpFailure(408, type="timeout_error", message="Request timeout")
CONFLICT = HttpFailure(409, message="Conflict")
PASSING: dict[str, ScriptedTurn] = {
    "408": TIMEOUT,
    "409": CONFLICT,
    "429": rate_limited(),
    "429 with retry-after": rate_limited(0.01),
    "429 with retry-after 0": rate_limited(0),
    "500": server_error(),
    "502": bad_gateway(),
    "503": unavailable(),
    "529": overloaded(),
    "529 with retry-after": HttpFailure(529, retry_after_seconds=0.01),
    "vanish": DroppedConnection(),
}
LASTING: dict[str, tuple[ScriptedTurn, str, str]] = {
    "400": (bad_request("messages: something is wrong"), "request", "something is wrong"),
    "401": (unauthorized(), "authentication", "`acp-server setup`"),
    "402": (HttpFailure(402, message="Your credit balance is too low"), "permission", "credit"),
    "403": (forbidden(), "permission", DOES_NOT_PERMIT),
    "404": (not_found("claude-none"), "unknown", CHOOSE_ANOTHER_MODEL),
    "422": (HttpFailure(422, message="unprocessable"), "request", "unprocessable"),
    "429 for an hour": (rate_limited(3600), "rate_limit", "wait 3600 s"),
}


@pytest.mark.parametrize("name", PASSING)
async def test_a_transient_error_is_reported_and_retried(tmp_path: Path, name: str) -> None:
    script = [PASSING[name], PASSING[name], "Here I am."]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
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


@pytest.mark.parametrize("name", PASSING)
async def test_a_persistent_transient_error_ends_the_turn(tmp_path: Path, name: str) -> None:
    script: Sequence[ScriptedTurn] = [PASSING[name]] * 4
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            data = await session.prompt_expecting_error()
        assert len(api.model_requests) == 4
        assert HOST in str(data["details"])
        assert "try again" in str(data["details"])
        assert session.agent_text() == data["details"], "said in the chat as well"
        check_history(session.history())
        api.add("Here I am.")
        assert await session.prompt("again") == "end_turn"
        assert session.agent_text().endswith("Here I am.")


@pytest.mark.parametrize("name", LASTING)
async def test_a_permanent_error_ends_the_turn_immediately(tmp_path: Path, name: str) -> None:
    turn, kind, message = LASTING[name]
    async with messages_api([turn]) as api, open_model_session(api, tmp_path) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            data = await session.prompt_expecting_error()
        assert len(api.model_requests) == 1
        assert data["kind"] == kind
        assert message in str(data["details"])
        assert "test-key" not in str(session.editor.messages)
        check_history(session.history())
        api.add("Here I am.")
        assert await session.prompt("again") == "end_turn"


async def test_a_client_without_notices_gets_them_as_thoughts(tmp_path: Path) -> None:
    config = ModelSessionConfig(shows_notices=False)
    async with (
        messages_api([overloaded(), "Here I am."]) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert "is overloaded: Overloaded; retrying in" in session.thoughts()
        assert session.updates("notice") == []


async def test_a_long_retry_delay_is_reported_in_seconds(tmp_path: Path) -> None:
    async with messages_api([rate_limited(2)]) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        await session.editor.wait_for_response(
            lambda _message: "in 2 s (attempt 1 of 3)" in str(session.notices())
        )
        session.cancel()
        await pending.response()


async def test_a_refused_connection_is_reported_and_retried(tmp_path: Path) -> None:
    config = ModelSessionConfig(retry_seconds=0.05, retries=6)
    async with (
        messages_api(["Here I am."]) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        await api.stop_listening()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            pending = session.start_prompt()
            await session.editor.wait_for_response(lambda _message: len(session.notices()) == 2)
            await api.start_listening()
            await pending.response()
        assert session.agent_text() == "Here I am."
        assert f"the connection to {HOST} failed" in session.notices()[0]


async def test_a_permanently_refused_connection_ends_the_turn(tmp_path: Path) -> None:
    async with messages_api() as api, open_model_session(api, tmp_path) as session:
        await api.stop_listening()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            data = await session.prompt_expecting_error()
        assert data["kind"] == "connection"
        assert "tried 4 times, try again later" in str(data["details"])
        await api.start_listening()
        api.add("Here I am.")
        assert await session.prompt("again") == "end_turn"


async def test_an_unresponsive_endpoint_is_retried(tmp_path: Path) -> None:
    never = ResponseGate()
    script = [reply("never", head_gate=never), "Here I am."]
    config = ModelSessionConfig(read_timeout_seconds=0.2)
    async with messages_api(script) as api, open_model_session(api, tmp_path, config) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await session.prompt() == "end_turn"
        assert f"{HOST} {NO_ANSWER_IN_TIME}" in session.notices()[0]
        assert session.agent_text() == "Here I am."


async def test_an_endpoint_that_never_responds_ends_the_turn(tmp_path: Path) -> None:
    never = ResponseGate()
    config = ModelSessionConfig(read_timeout_seconds=0.1)
    async with (
        messages_api(lambda _ask: reply("never", head_gate=never)) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            data = await session.prompt_expecting_error()
        assert data["kind"] == "connection"
        assert NO_ANSWER_IN_TIME in str(data["details"])


async def test_without_a_key_the_client_is_asked_to_sign_in(tmp_path: Path) -> None:
    config = ModelSessionConfig(api_key=None)
    async with messages_api() as api, open_model_session(api, tmp_path, config) as session:
        response = await session.start_prompt().response()
        assert "ANTHROPIC_API_KEY" in str(response["error"])
        assert "-32000" in str(response["error"])
        assert api.model_requests == ()


async def test_an_invalid_key_is_not_reported_as_a_missing_key(tmp_path: Path) -> None:
    config = ModelSessionConfig(api_key="wrong-key-0123456789")
    async with messages_api() as api, open_model_session(api, tmp_path, config) as session:
        response = await session.start_prompt().response()
        assert "-32603" in str(response["error"])
        assert "refused the credentials" in session.agent_text()
        assert "wrong-key" not in str(session.editor.messages)


async def test_a_long_endpoint_error_is_shown_on_one_short_line(tmp_path: Path) -> None:
    wordy = HttpFailure(500, message="It broke.\n\n" + "And this is how. " * 1000)
    async with (
        messages_api([wordy, "Here I am."]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        assert await session.prompt() == "end_turn"
        assert "It broke. And this" in session.notices()[0]
        assert "\n" not in session.notices()[0]
        assert len(session.notices()[0]) < 400
