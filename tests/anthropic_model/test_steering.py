"""What the user says while a turn runs: never lost, never doubled, and taken by the provider."""

from collections.abc import Sequence
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.turn.conversation import AssistantMessage, Message, Text, ToolResult, UserMessage
from tests.anthropic_model.model_session import (
    ModelSession,
    ModelSessionConfig,
    check_history,
    open_model_session,
)
from tests.support.editor import Object, json_at
from tests.support.messages_api import (
    FakeApiServer,
    HoldUntilGate,
    ResponseGate,
    Script,
    ScriptedReply,
    call,
    messages_api,
    overloaded,
    reply,
    say,
    think,
)

ASIDE = "and mind the tests"
STEER = ModelSessionConfig(busy_mode="steer")


def paused_reply(gate: ResponseGate, at_event: int) -> ScriptedReply:
    """A reply with two calls, held back before an event."""
    calls = (call("note", text="a thing"), call("look", text="where"))
    blocks = (think("Why?"), say("First I look at it."), *calls)
    return reply(*blocks, faults=[HoldUntilGate(at_event, gate)])


def user_texts(messages: Sequence[Message]) -> list[str]:
    """The texts of the user, in order."""
    parts = [p for m in messages if isinstance(m, UserMessage) for p in m.parts]
    return [part.text for part in parts if isinstance(part, Text)]


@pytest.mark.parametrize("at_event", [1, 2, 4, 7, 9, 12, 15, 18, 19, 21])
async def test_steering_at_any_point_of_a_stream_is_inserted_after_its_tool_calls(
    tmp_path: Path, at_event: int
) -> None:
    gate = ResponseGate()
    async with (
        messages_api([paused_reply(gate, at_event), "Noted."]) as api,
        open_model_session(api, tmp_path, STEER) as session,
    ):
        first = session.start_prompt("go")
        await session.wait_until_translated(at_event)
        second = session.start_prompt(ASIDE)
        await anyio.wait_all_tasks_blocked()
        gate.open()
        check_both_ended(await first.response(), await second.response())
        check_sent_once(session, api)
        results = next(
            m
            for m in session.history()
            if isinstance(m, UserMessage) and any(isinstance(p, ToolResult) for p in m.parts)
        )
        assert results.parts[-1] == Text(ASIDE)
        assert session.agent_text() == "First I look at it.Noted."


def check_both_ended(first: Object, second: Object) -> None:
    """Check that both requests were answered, as the turn that they share ended."""
    for answer in (first, second):
        assert json_at(answer, "result", "stopReason") == "end_turn"


def check_sent_once(session: ModelSession, api: FakeApiServer) -> None:
    """Check that the model was told once, and that the provider took all of it."""
    assert user_texts(session.history()) == ["go", ASIDE]
    assert all(ask.verdict == "answered" for ask in api.model_requests)
    check_history(session.history())


async def test_steering_while_tool_calls_run_is_inserted_after_their_results(
    tmp_path: Path,
) -> None:
    script: Script = [reply(say("I look."), call("look", text="x")), "Noted."]
    async with messages_api(script) as api, open_model_session(api, tmp_path, STEER) as session:
        session.tools.allowed_to_end = anyio.Event()
        first = session.start_prompt("go")
        await session.tools.started.wait()
        second = session.start_prompt(ASIDE)
        await anyio.wait_all_tasks_blocked()
        session.tools.allowed_to_end.set()
        check_both_ended(await first.response(), await second.response())
        check_sent_once(session, api)


async def test_steering_during_the_last_answer_starts_another_step(tmp_path: Path) -> None:
    gate = ResponseGate()
    script: Script = [reply(say("All done."), faults=[HoldUntilGate(3, gate)]), "Noted."]
    async with messages_api(script) as api, open_model_session(api, tmp_path, STEER) as session:
        first = session.start_prompt("go")
        await session.wait_until_translated(3)
        second = session.start_prompt(ASIDE)
        await anyio.wait_all_tasks_blocked()
        gate.open()
        check_both_ended(await first.response(), await second.response())
        check_sent_once(session, api)
        assert [type(m) for m in session.history()] == [
            UserMessage,
            AssistantMessage,
            UserMessage,
            AssistantMessage,
        ]


async def test_steering_in_the_same_write_as_the_prompt_joins_its_turn(tmp_path: Path) -> None:
    async with (
        messages_api(["One.", "Two."]) as api,
        open_model_session(api, tmp_path, STEER) as session,
    ):
        first, second = session.start_prompt("go"), session.start_prompt(ASIDE)
        check_both_ended(await first.response(), await second.response())
        check_sent_once(session, api)


async def test_several_steering_messages_are_delivered_together_in_order(tmp_path: Path) -> None:
    gate = ResponseGate()
    async with (
        messages_api([paused_reply(gate, 5), "Noted."]) as api,
        open_model_session(api, tmp_path, STEER) as session,
    ):
        pending = [session.start_prompt("go")]
        await session.wait_until_translated(5)
        pending += [session.start_prompt(text) for text in ("one", "two", "three")]
        await anyio.wait_all_tasks_blocked()
        gate.open()
        for each in pending:
            assert json_at(await each.response(), "result", "stopReason") == "end_turn"
        assert user_texts(session.history()) == ["go", "one", "two", "three"]
        assert len(api.model_requests) == 2


async def test_undelivered_steering_of_a_failed_turn_gets_its_own_turn(
    tmp_path: Path,
) -> None:
    script: Script = [overloaded(), "I am back."]
    config = ModelSessionConfig(busy_mode="steer", retries=0)
    async with messages_api(script) as api, open_model_session(api, tmp_path, config) as session:
        first, second = session.start_prompt("go"), session.start_prompt(ASIDE)
        assert json_at(await first.response(), "error", "code") == -32603
        assert json_at(await second.response(), "result", "stopReason") == "end_turn"
        assert user_texts(session.history()) == ["go", ASIDE]


async def test_a_cancel_ends_the_turn_and_its_steering_prompts(tmp_path: Path) -> None:
    gate = ResponseGate()
    async with (
        messages_api([paused_reply(gate, 6), "All good."]) as api,
        open_model_session(api, tmp_path, STEER) as session,
    ):
        first = session.start_prompt("go")
        await session.wait_until_translated(6)
        second = session.start_prompt(ASIDE)
        await anyio.wait_all_tasks_blocked()
        session.cancel()
        for pending in (first, second):
            assert json_at(await pending.response(), "result", "stopReason") == "cancelled"
        gate.open()
        await anyio.wait_all_tasks_blocked()
        assert len(api.model_requests) == 1
        assert await session.prompt("and now?") == "end_turn"
        assert user_texts(session.history()) == ["go", "and now?"]


async def test_steering_cancelled_before_delivery_is_not_sent(
    tmp_path: Path,
) -> None:
    gate = ResponseGate()
    async with (
        messages_api([paused_reply(gate, 6), "Noted."]) as api,
        open_model_session(api, tmp_path, STEER) as session,
    ):
        first = session.start_prompt("go")
        await session.wait_until_translated(6)
        second = session.start_prompt(ASIDE)
        await anyio.wait_all_tasks_blocked()
        session.editor.notify("$/cancel_request", {"requestId": second.id})
        assert json_at(await second.response(), "result", "stopReason") == "cancelled"
        gate.open()
        assert json_at(await first.response(), "result", "stopReason") == "end_turn"
        assert user_texts(session.history()) == ["go"]
        assert len(api.model_requests) == 2


@pytest.mark.parametrize(
    ("usual", "text"), [("queue", ASIDE), ("steer", f"/queue {ASIDE}")], ids=["setting", "command"]
)
async def test_a_queued_prompt_gets_its_own_turn(
    tmp_path: Path, usual: JsonValue, text: str
) -> None:
    gate = ResponseGate()
    config = ModelSessionConfig(busy_mode="queue" if usual == "queue" else "steer")
    async with (
        messages_api([paused_reply(gate, 6), "Done.", "Second."]) as api,
        open_model_session(api, tmp_path, config) as session,
    ):
        first = session.start_prompt("go")
        await session.wait_until_translated(6)
        second = session.start_prompt(text)
        await anyio.wait_all_tasks_blocked()
        gate.open()
        check_both_ended(await first.response(), await second.response())
        assert len(api.model_requests) == 3
        check_sent_once(session, api)
        assert session.agent_text() == "First I look at it.Done.Second."


async def test_an_interrupting_prompt_replaces_the_running_turn(tmp_path: Path) -> None:
    gate = ResponseGate()
    async with (
        messages_api([paused_reply(gate, 6), "Instead."]) as api,
        open_model_session(api, tmp_path, ModelSessionConfig(busy_mode="interrupt")) as session,
    ):
        first = session.start_prompt("go")
        await session.wait_until_translated(6)
        second = session.start_prompt(ASIDE)
        assert json_at(await first.response(), "result", "stopReason") == "cancelled"
        assert json_at(await second.response(), "result", "stopReason") == "end_turn"
        gate.open()
        assert session.agent_text().endswith("Instead.")


async def send_steering(session: ModelSession, text: str, meta: JsonValue = None) -> JsonValue:
    """Send `_session/steering`; return the outcome."""
    params: Object = {
        "sessionId": session.session_id,
        "prompt": [{"type": "text", "text": text}],
        "_meta": meta,
    }
    return json_at(await session.editor.call("_session/steering", params), "result", "outcome")


async def test_a_steering_request_is_injected_or_starts_a_turn(tmp_path: Path) -> None:
    gate = ResponseGate()
    script: Script = [paused_reply(gate, 6), "Noted.", "A new turn."]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        first = session.start_prompt("go")
        await session.wait_until_translated(6)
        assert await send_steering(session, ASIDE) == "injected"
        gate.open()
        assert json_at(await first.response(), "result", "stopReason") == "end_turn"
        check_sent_once(session, api)
        refusing: JsonValue = {"steering": {"idleBehavior": "promptRequired"}}
        assert await send_steering(session, "no turn", refusing) == "failed"
        assert await send_steering(session, "a turn") == "startedNewTurn"
        await session.editor.wait_for_response(lambda m: "new turn" in str(m))
        assert user_texts(session.history()) == ["go", ASIDE, "a turn"]
