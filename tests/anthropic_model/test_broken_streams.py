"""What goes wrong within an answer: no text is lost, none is shown twice, the message is one."""

from pathlib import Path

import anyio
import pytest

from acp_server.turn.continuation import CONTINUE_PROMPT
from acp_server.turn.conversation import Text, UserMessage
from tests.anthropic_model.model_session import (
    ModelSessionConfig,
    check_history,
    open_model_session,
    stored_text,
)
from tests.support.messages_api import (
    CutAfterBytes,
    CutAfterEvents,
    CutInsideCharacter,
    EndAfterEvents,
    ErrorEvent,
    ExtraEvent,
    GarbageBytes,
    HoldUntilGate,
    ParsedRequest,
    PauseBeforeEvent,
    ResponseGate,
    ScriptedReply,
    StreamFault,
    TrickledBytes,
    call,
    huge_event,
    messages_api,
    pings,
    reply,
    say,
    think,
)
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import NO_ANSWER_IN_TIME

FULL_TEXT = "It begins here, goes on for a while, över and över, and it ends there."
THOUGHT = "How does it go on?"
EVENTS_OF_REPLY = 16


def rest_of(ask: ParsedRequest) -> ScriptedReply:
    """Return what was not said yet, as a model that was cut off would go on."""
    texts = [
        block.text
        for message in ask.request.messages
        if message.role == "assistant"
        for block in message.content
        if block.type == "text"
    ]
    return reply(think(THOUGHT), say(FULL_TEXT[len("".join(texts)) :]))


def broken(*faults: StreamFault) -> ScriptedReply:
    """Return the whole answer with faults."""
    return reply(think(THOUGHT), say(FULL_TEXT), faults=faults)


CUTS: dict[str, StreamFault] = {
    **{f"cut after event {n}": CutAfterEvents(n) for n in range(EVENTS_OF_REPLY + 1)},
    **{f"end after event {n}": EndAfterEvents(n) for n in range(EVENTS_OF_REPLY + 1)},
    **{f"cut after {n} bytes": CutAfterBytes(n) for n in range(40, 2300, 173)},
    "cut inside a character": CutInsideCharacter("ö"),
    **{
        f"{kind} at event {n}": ErrorEvent(n, kind, "so it is")
        for kind in ("overloaded_error", "api_error", "rate_limit_error")
        for n in (0, 1, 5, 9, EVENTS_OF_REPLY - 2)
    },
    **{f"garbage at event {n}": GarbageBytes(n) for n in (0, 1, 5, 9)},
    "garbage that looks like an event": GarbageBytes(9, b'event: x\ndata: {"type": 1\n\n'),
    "JSON that is no event": GarbageBytes(9, b"event: x\ndata: [1]\n\n"),
    "a delta of nothing": GarbageBytes(
        9, b'event: content_block_delta\ndata: {"type":"content_block_delta"}\n\n'
    ),
}
HARMLESS: dict[str, StreamFault] = {
    "pings": pings(5, 100),
    "an unknown event": ExtraEvent(5),
    "a huge event": huge_event(9),
    "bit by bit": TrickledBytes(7, 0),
    "a short silence": PauseBeforeEvent(9, 0.05),
}


NEXT_TO_OTHERS = {
    *(
        f"{how} after event {n}"
        for how, shift in (("cut", 0), ("end", 1))
        for n in range(3, 14)
        if (n + shift) % 3
    ),
    *(f"cut after {n} bytes" for n in range(213, 2300, 346)),
    *(f"{kind} at event {n}" for kind in ("api_error", "rate_limit_error") for n in (0, 5, 9)),
}
"""Places in one block, or of errors that are treated alike: each kind has others in the suite."""


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.full] if name in NEXT_TO_OTHERS else [])
        for name in CUTS
    ],
)
async def test_a_truncated_answer_is_continued_where_it_stopped(tmp_path: Path, name: str) -> None:
    async with (
        messages_api([broken(CUTS[name]), rest_of]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await session.prompt() == "end_turn"
        assert session.agent_text() == FULL_TEXT
        assert len(session.message_ids()) == 1
        assert stored_text(session.history()) == FULL_TEXT
        assert len(session.notices()) == len(api.model_requests) - 1
        assert all(ask.verdict == "answered" for ask in api.model_requests)
        check_history(session.history())
        api.add("And on.")
        assert await session.prompt("more") == "end_turn"
        assert api.model_requests[-1].verdict == "answered"


async def test_the_scripted_reply_has_the_declared_number_of_events(tmp_path: Path) -> None:
    async with messages_api([broken()]) as api, open_model_session(api, tmp_path) as session:
        await session.prompt()
        assert len([data for data in session.translated if data]) == EVENTS_OF_REPLY


@pytest.mark.parametrize("name", HARMLESS)
async def test_harmless_stream_anomalies_are_ignored(tmp_path: Path, name: str) -> None:
    async with (
        messages_api([broken(HARMLESS[name])]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await session.prompt() == "end_turn"
        assert session.agent_text() == FULL_TEXT
        assert session.notices() == []
        assert len(api.model_requests) == 1


@pytest.mark.parametrize("at_event", [1, 4, 9])
async def test_a_stalled_answer_is_continued(tmp_path: Path, at_event: int) -> None:
    script = [broken(HoldUntilGate(at_event, ResponseGate())), rest_of]
    config = ModelSessionConfig(read_timeout_seconds=0.2)
    async with messages_api(script) as api, open_model_session(api, tmp_path, config) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await session.prompt() == "end_turn"
        assert session.agent_text() == FULL_TEXT
        assert NO_ANSWER_IN_TIME in session.notices()[0]


async def test_an_answer_ends_at_its_stop_event(tmp_path: Path) -> None:
    """Though the endpoint keeps the connection open."""
    held = broken(HoldUntilGate(EVENTS_OF_REPLY, ResponseGate()))
    async with messages_api([held, "And on."]) as api, open_model_session(api, tmp_path) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            assert await session.prompt() == "end_turn"
            assert await session.prompt("more") == "end_turn"
        assert session.notices() == []


async def test_an_answer_that_breaks_off_repeatedly_ends_the_turn(tmp_path: Path) -> None:
    async with (
        messages_api(lambda _ask: reply(say("Well, "), faults=[CutAfterEvents(4)])) as api,
        open_model_session(api, tmp_path) as session,
    ):
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            data = await session.prompt_expecting_error()
        assert data["kind"] == "connection"
        assert len(api.model_requests) == 4
        assert session.agent_text() == "Well, " * 4 + str(data["details"])
        check_history(session.history())


async def test_a_permanent_stream_error_is_not_retried(tmp_path: Path) -> None:
    fault = ErrorEvent(9, "invalid_request_error", "that will not do")
    async with messages_api([broken(fault)]) as api, open_model_session(api, tmp_path) as session:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            data = await session.prompt_expecting_error()
        assert "that will not do" in str(data["details"])
        assert len(api.model_requests) == 1
        assert stored_text(session.history())
        assert FULL_TEXT.startswith(stored_text(session.history()))
        check_history(session.history())


async def test_complete_tool_calls_run_although_the_rest_of_the_answer_is_missing(
    tmp_path: Path,
) -> None:
    cut = reply(
        say("I look."), call("look", text="a"), call("note", text="b"), faults=[CutAfterEvents(12)]
    )
    async with messages_api([cut, "Done."]) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert [run.name for run in session.tools.target_subcommands] == ["look"]
        assert len(session.updates("tool_call")) == 2
        assert "not run: the answer ended before this call was complete" in str(
            session.updates("tool_call_update")
        )
        check_history(session.history())
        assert api.model_requests[-1].verdict == "answered"


async def test_the_continue_prompt_is_sent_only_after_visible_text(tmp_path: Path) -> None:
    in_thought = broken(CutAfterEvents(4))
    async with (
        messages_api([in_thought, rest_of]) as api,
        open_model_session(api, tmp_path) as session,
    ):
        await session.prompt()
        assert api.model_requests[0].body == api.model_requests[1].body
        asked = [m for m in session.history() if isinstance(m, UserMessage)]
        assert all(Text(CONTINUE_PROMPT) not in message.parts for message in asked)


@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "text/html"])
async def test_a_wrong_content_type_does_not_matter(tmp_path: Path, content_type: str) -> None:
    script = [reply(say(FULL_TEXT), content_type=content_type)]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        assert await session.prompt() == "end_turn"
        assert session.agent_text() == FULL_TEXT


@pytest.mark.parametrize("content_type", ["application/json", "text/html; charset=UTF-8"])
async def test_a_response_that_is_not_a_stream_is_reported_immediately(
    tmp_path: Path, content_type: str
) -> None:
    """A gateway that cannot stream, or the page of somebody else."""
    page = GarbageBytes(0, b"<html>\n<p>Welcome to our network!</p></html>\n")
    script = [reply(faults=[EndAfterEvents(0), page], content_type=content_type)]
    async with messages_api(script) as api, open_model_session(api, tmp_path) as session:
        data = await session.prompt_expecting_error()
        assert content_type.partition(";")[0] in str(data["details"])
        assert "check that the base URL" in str(data["details"])
        assert len(api.model_requests) == 1
