"""A turn can be cancelled at any point, is answered once, and leaves a history that is taken."""

from pathlib import Path

import anyio
import pytest

from tests.anthropic_model.model_session import (
    ModelSession,
    ModelSessionConfig,
    check_history,
    open_model_session,
)
from tests.support.editor import PendingResponse, json_at, prompt_params
from tests.support.messages_api import (
    CutAfterEvents,
    FakeApiServer,
    HoldUntilGate,
    ResponseGate,
    ScriptedReply,
    call,
    messages_api,
    overloaded,
    reply,
    say,
    think,
)
from tests.support.user_texts import CANCELLED_BY_USER, CONTINUING

EVENTS_OF_REPLY = 25
REPLY_TEXT = "First I look at it, then I write it down for you."


def rich_reply(gate: ResponseGate, at_event: int) -> ScriptedReply:
    """Return thinking, text and two calls, held back before an event."""
    return reply(
        think("What is asked for here, and why?"),
        say(REPLY_TEXT),
        call("note", text="a thing to remember"),
        call("look", text="where"),
        faults=[HoldUntilGate(at_event, gate)],
    )


async def check_cancelled(
    session: ModelSession, api: FakeApiServer, pending: PendingResponse
) -> None:
    """Check the answer, the silence behind it, and that the next prompt works."""
    response = await pending.response()
    assert response["result"] is not None
    assert json_at(response["result"], "stopReason") == "cancelled"
    assert await session.turn_updates_after(pending) == []
    check_history(session.history())
    check_calls_are_closed(session)
    await check_next_prompt(session, api)


async def check_next_prompt(session: ModelSession, api: FakeApiServer) -> None:
    """Check that the strict server takes the conversation, and that its answer arrives."""
    before = session.agent_text()
    api.add("All good.")
    assert await session.prompt("and now?") == "end_turn"
    assert session.agent_text() == before + "All good."
    assert api.model_requests[-1].verdict == "answered"
    assert all(ask.verdict != "refused" for ask in api.model_requests)
    check_history(session.history())


def check_calls_are_closed(session: ModelSession) -> None:
    """Check that every call that appeared has ended for the user."""
    appeared = [json_at(each, "toolCallId") for each in session.updates("tool_call")]
    ended = [
        json_at(each, "toolCallId")
        for each in session.updates("tool_call_update")
        if json_at(each, "status") in {"completed", "failed"}
    ]
    assert sorted(map(str, ended)) == sorted(map(str, appeared))


@pytest.mark.parametrize(
    "at_event",
    [
        # each block has three events or more, so that the suite stops in each
        pytest.param(number, marks=[] if number % 2 else [pytest.mark.full])
        for number in range(1, EVENTS_OF_REPLY + 1)
    ],
)
async def test_a_turn_can_be_cancelled_before_any_event(tmp_path: Path, at_event: int) -> None:
    gate = ResponseGate()
    async with (
        messages_api([rich_reply(gate, at_event)]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        pending = session.start_prompt()
        await session.wait_until_translated(at_event)
        session.cancel()
        await check_cancelled(session, api, pending)
        assert REPLY_TEXT.startswith(session.agent_text().removesuffix("All good."))
        assert api.model_requests[0].send_result == "left"
        assert session.tools.target_subcommands == []
        gate.open()


async def test_the_scripted_reply_has_the_declared_number_of_events(tmp_path: Path) -> None:
    gate = ResponseGate()
    gate.open()
    async with (
        messages_api([rich_reply(gate, 0), "done"]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        await session.prompt()
        first = [data for data in session.translated if data]
        assert next(i for i, data in enumerate(first) if "message_stop" in data) + 1 == (
            EVENTS_OF_REPLY
        )


async def test_a_turn_can_be_cancelled_before_the_first_byte(tmp_path: Path) -> None:
    gate = ResponseGate()
    script = [reply("never", head_gate=gate)]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        await api.wait_for_requests(1)
        while not api.model_requests:
            await api.wait_for_requests(len(api.requests) + 1)
        session.cancel()
        await check_cancelled(session, api, pending)


async def test_a_turn_can_be_cancelled_immediately_after_its_prompt(tmp_path: Path) -> None:
    async with messages_api() as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        session.cancel()
        await check_cancelled(session, api, pending)


async def test_a_turn_can_be_cancelled_in_the_same_write_as_its_prompt(tmp_path: Path) -> None:
    async with messages_api() as api, open_model_session(api, tmp_path) as session:
        prompt = prompt_params(session.session_id, "hi")
        session.editor.send(
            {"jsonrpc": "2.0", "id": "p", "method": "session/prompt", "params": prompt}
        )
        session.cancel()
        answer = await session.editor.wait_for_response(lambda message: message.get("id") == "p")
        assert json_at(answer, "result", "stopReason") == "cancelled"
        await check_next_prompt(session, api)


async def test_a_turn_can_be_cancelled_while_a_tool_runs(tmp_path: Path) -> None:
    script = [reply(think("Hm."), say("I look."), call("look", text="x"), call("note", text="y"))]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        session.tools.allowed_to_end = anyio.Event()
        pending = session.start_prompt()
        await session.tools.started.wait()
        session.cancel()
        await check_cancelled(session, api, pending)
        assert CANCELLED_BY_USER in str(api.model_requests[-1].body)


async def test_a_turn_can_be_cancelled_between_two_steps(tmp_path: Path) -> None:
    """The tool has ended; the request with its result is not answered yet."""
    gate = ResponseGate()
    script = [reply(call("look", text="x")), reply("never", head_gate=gate)]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        while len(api.model_requests) < 2:
            await api.wait_for_requests(len(api.requests) + 1)
        session.cancel()
        await check_cancelled(session, api, pending)
        assert "look: done" in str(api.model_requests[-1].body)


async def test_a_turn_can_be_cancelled_as_soon_as_a_tool_ends(tmp_path: Path) -> None:
    async with (
        messages_api([reply(call("look", text="x"))]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        session.tools.allowed_to_end = anyio.Event()
        pending = session.start_prompt()
        await session.tools.started.wait()
        session.tools.allowed_to_end.set()
        session.cancel()
        await check_cancelled(session, api, pending)


LONG_SECONDS, SOON_SECONDS = 600, 60
WAITS = {
    "before it asks again": (
        overloaded(),
        ModelSessionConfig(retry_seconds=LONG_SECONDS),
        "retrying in",
    ),
    "before it goes on": (
        reply(say(REPLY_TEXT), faults=[CutAfterEvents(5)]),
        ModelSessionConfig(resume_wait_seconds=LONG_SECONDS),
        CONTINUING,
    ),
}


@pytest.mark.parametrize("name", WAITS)
@pytest.mark.parametrize("shows_notices", [True, False])
async def test_a_turn_can_be_cancelled_during_a_retry_delay(
    tmp_path: Path, name: str, *, shows_notices: bool
) -> None:
    turn, config, text = WAITS[name]
    config.shows_notices = shows_notices

    def shown(session: ModelSession) -> str:
        return str(session.notices()) + session.thoughts()

    async with messages_api([turn]) as api, open_model_session(api, tmp_path, config) as session:
        pending = session.start_prompt()
        await session.editor.wait_for_response(lambda _message: text in shown(session))
        with anyio.fail_after(SOON_SECONDS):
            session.cancel()
            await check_cancelled(session, api, pending)


async def test_a_cancel_after_the_last_byte_produces_one_response(tmp_path: Path) -> None:
    async with messages_api(["Hello."]) as api, open_model_session(api, tmp_path) as session:
        pending = session.start_prompt()
        await session.wait_until_translated(5)
        session.cancel()
        response = await pending.response()
        assert json_at(response["result"], "stopReason") in {"cancelled", "end_turn"}
        assert await session.turn_updates_after(pending) == []
        await check_next_prompt(session, api)


async def test_a_cancel_after_the_response_does_nothing(tmp_path: Path) -> None:
    async with messages_api(["Hello."]) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        session.cancel()
        await check_next_prompt(session, api)


async def test_a_cancel_also_ends_the_queued_prompt(tmp_path: Path) -> None:
    gate = ResponseGate()
    async with (
        messages_api([rich_reply(gate, 10)]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        first, second = session.start_prompt("one"), session.start_prompt("two")
        await session.wait_until_translated(10)
        session.cancel()
        assert json_at(await second.response(), "result", "stopReason") == "cancelled"
        await check_cancelled(session, api, first)
        assert len(api.model_requests) == 2


async def test_two_consecutive_cancels_act_as_one(tmp_path: Path) -> None:
    gate = ResponseGate()
    async with (
        messages_api([rich_reply(gate, 10)]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        pending = session.start_prompt()
        await session.wait_until_translated(10)
        session.cancel()
        session.cancel()
        await check_cancelled(session, api, pending)


async def test_two_consecutive_turns_can_be_cancelled(tmp_path: Path) -> None:
    gate = ResponseGate()
    script = [rich_reply(gate, 6), rich_reply(gate, 12)]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        for translated in (6, 18):
            pending = session.start_prompt()
            await session.wait_until_translated(translated)
            session.cancel()
            assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
            assert await session.turn_updates_after(pending) == []
        await check_next_prompt(session, api)


async def test_cancelling_a_request_does_not_affect_other_sessions(tmp_path: Path) -> None:
    gate = ResponseGate()
    script = [rich_reply(gate, 10), reply("Here I am.", faults=[HoldUntilGate(4, gate)])]
    config = ModelSessionConfig(session_count=2)
    async with (
        messages_api(script) as api,
        open_model_session(api, tmp_path, config) as model_session,
    ):
        first, second = [session.id for session in model_session.sessions]
        stopped = model_session.editor.start_prompt(first, "one")
        await model_session.wait_until_translated(10)
        running = model_session.editor.start_prompt(second, "two")
        await model_session.wait_until_translated(14)
        model_session.editor.cancel(first)
        assert json_at(await stopped.response(), "result", "stopReason") == "cancelled"
        gate.open()
        assert json_at(await running.response(), "result", "stopReason") == "end_turn"
        assert model_session.editor.agent_text(second) == "Here I am."
