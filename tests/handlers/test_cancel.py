"""Stopping: a turn, the turns behind it, one request; whatever the model makes of it."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.session import turn_queue
from acp_server.session.context import SessionContext
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.toolset import SessionToolset
from acp_server.session.registry import SessionRegistry
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import AssistantMessage, Text, UserMessage
from acp_server.turn.errors import ModelFailedError
from tests.handlers import expected
from tests.handlers.checked_editor import CheckedEditor, make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import (
    EchoModel,
    RaiseOnCancelModel,
    UncancellableModel,
    UncancellableTalker,
)
from tests.support.editor import Object, json_at, prompt_params
from tests.support.server_parts import MODEL_ID, make_registry, make_services
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

ANSWER_SECONDS = 0.3
ATTEMPTS = 3


async def wait_for_text(editor: CheckedEditor, session: str, words: str) -> None:
    await editor.wait_until(
        lambda: words in editor.agent_text(session) or None, f"word of {words!r}"
    )


def line(**message: JsonValue) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


async def test_a_cancelled_turn_is_answered_cancelled_and_the_next_prompt_works(
    tmp_path: Path,
) -> None:
    """Trap 3, ACP-CANCEL."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        pending = editor.start_prompt(session, "wait")
        await wait_for_text(editor, session, "Working")
        editor.cancel(session)
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert expected.shorten_ids(list(editor.messages[3:])) == [
            expected.session_update("sess_1", expected.message_chunk("msg_1", "Working")),
            expected.result_response(3, expected.CANCELLED),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "Hello.")),
            expected.result_response(4, expected.END_TURN),
        ]


async def test_output_of_a_cancelled_turn_stays_in_the_conversation(tmp_path: Path) -> None:
    """Trap 3."""
    registry = make_scripted_registry(tmp_path)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(tmp_path)
        pending = editor.start_prompt(session, "wait")
        await wait_for_text(editor, session, "Working")
        editor.cancel(session)
        await pending.response()
        assert list(registry.find(session).context.conversation) == [
            UserMessage((Text("wait"),)),
            AssistantMessage((Text("Working"),)),
        ]


async def test_a_cancel_in_the_same_write_as_its_prompt_is_not_lost(tmp_path: Path) -> None:
    """Trap 3, Trap 15: the prompt has its place before its task runs."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        prompt = line(id="p", method="session/prompt", params=prompt_params(session, "wait"))
        editor.send_line(prompt)
        editor.send_line(line(method="session/cancel", params={"sessionId": session}))
        answer = await editor.wait_for_response(lambda message: message.get("id") == "p")
        assert answer == expected.result_response("p", expected.CANCELLED)
        assert editor.agent_text(session) == ""
        assert await editor.prompt(session, "hi") == expected.END_TURN


async def test_a_cancel_does_not_affect_a_later_prompt_in_the_same_write(
    tmp_path: Path,
) -> None:
    """Trap 3, Trap 15."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        first = editor.start_prompt(session, "wait")
        editor.cancel(session)
        second = editor.start_prompt(session, "hi")
        assert await first.response() == expected.result_response(3, expected.CANCELLED)
        assert await second.response() == expected.result_response(4, expected.END_TURN)


async def test_a_cancel_stops_the_running_prompt_and_every_queued_one(tmp_path: Path) -> None:
    """Trap 3, Trap 14, ACP-CANCEL."""
    registry = make_scripted_registry(tmp_path)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(tmp_path)
        pending = [editor.start_prompt(session, words) for words in ("wait", "two", "three")]
        await wait_for_text(editor, session, "Working")
        editor.cancel(session)
        answers = [await each.response() for each in pending]
        assert answers == [expected.result_response(n, expected.CANCELLED) for n in (3, 4, 5)]
        assert editor.agent_text(session) == "Working"
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert list(registry.find(session).context.conversation) == [
            UserMessage((Text("wait"),)),
            AssistantMessage((Text("Working"),)),
            UserMessage((Text("hi"),)),
            AssistantMessage((Text("Hello."),)),
        ]


async def test_a_cancel_affects_only_its_own_session(tmp_path: Path) -> None:
    """Trap 15."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        stopped, going = await editor.new_session(tmp_path), await editor.new_session(tmp_path)
        first, second = editor.start_prompt(stopped, "wait"), editor.start_prompt(going, "wait")
        await wait_for_text(editor, stopped, "Working")
        await wait_for_text(editor, going, "Working")
        editor.cancel(stopped)
        assert await first.response() == expected.result_response(4, expected.CANCELLED)
        assert await editor.prompt(stopped, "hi") == expected.END_TURN
        assert not second.is_answered
        editor.cancel(going)
        assert await second.response() == expected.result_response(5, expected.CANCELLED)


@pytest.mark.parametrize(
    "params",
    [{"sessionId": "nobody"}, {"sessionId": 5}, {"sessionId": None}, {}, [], None, "s"],
)
async def test_a_cancel_without_a_turn_is_ignored(params: JsonValue) -> None:
    """Trap 3, Trap 11: no answer, and the session goes on."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        editor.notify("session/cancel", params)
        editor.cancel(session)
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert len([message for message in editor.messages if "id" in message]) == 3


async def test_cancels_after_the_end_of_a_turn_do_not_affect_the_next_one(tmp_path: Path) -> None:
    """Trap 3."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        for _ in range(3):
            assert await editor.prompt(session, "hi") == expected.END_TURN
            editor.cancel(session)


async def test_a_cancel_racing_the_end_of_a_turn_produces_exactly_one_response() -> None:
    """Trap 3: either reason; the editor fails on a second answer."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        reasons: list[JsonValue] = []
        for steps_before_cancel in range(20):
            pending = editor.start_prompt(session, "hi")
            for _ in range(steps_before_cancel):
                await anyio.lowlevel.checkpoint()
            editor.cancel(session)
            reasons.append((await pending.response())["result"])
        assert reasons[0] == expected.CANCELLED
        assert all(reason in (expected.CANCELLED, expected.END_TURN) for reason in reasons)
        assert await editor.prompt(session, "hi") == expected.END_TURN


async def test_repeated_cancels_have_no_further_effect(tmp_path: Path) -> None:
    """Trap 3."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        pending = editor.start_prompt(session, "wait")
        for _ in range(5):
            editor.cancel(session)
            editor.notify("$/cancel_request", {"requestId": pending.id})
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)
        assert await editor.prompt(session, "hi") == expected.END_TURN


# Before the session is ready.


class SlowToolset:
    """A toolset that is built once the test lets it."""

    def __init__(self) -> None:
        self.is_building = anyio.Event()
        self.may_build = anyio.Event()

    async def build(
        self, context: SessionContext, servers: Sequence[ServerConfig]
    ) -> SessionToolset:
        del context, servers
        self.is_building.set()
        await self.may_build.wait()
        return SessionToolset(SessionToolbox(()))


def registry_of(toolset: SlowToolset) -> SessionRegistry:
    catalog = FixedCatalog(MODEL_ID, MODEL_ID, EchoModel)
    return SessionRegistry(replace(make_services(catalog), toolset=toolset.build))


async def test_the_commands_come_before_the_answer_to_a_prompt_cancelled_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trap 3, ACP-CANCEL: a client that reads until the response must not miss them."""
    monkeypatch.setattr(turn_queue, "SETTLE_SECONDS", HANG_TIMEOUT_SECONDS)
    toolset = SlowToolset()
    async with open_checked_editor(registry_of(toolset)) as editor:
        session = await editor.new_session()
        pending = editor.start_prompt(session, "hi")
        await toolset.is_building.wait()
        editor.cancel(session)
        await anyio.wait_all_tasks_blocked()
        toolset.may_build.set()
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)
        await editor.wait_until(lambda: editor.updates_of(session) or None, "commands")
        last, answer = editor.messages[-2:]
        assert answer == expected.result_response(3, expected.CANCELLED)
        assert json_at(last, "params", "update", "sessionUpdate") == "available_commands_update"


async def test_closing_a_session_does_not_wait_for_its_commands(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Trap 3, ACP-CLOSE: nor for the answer to a prompt that was cancelled before."""
    monkeypatch.setattr(turn_queue, "SETTLE_SECONDS", HANG_TIMEOUT_SECONDS)
    toolset = SlowToolset()
    async with open_checked_editor(registry_of(toolset)) as editor:
        session = await editor.new_session()
        cancelled = editor.start_prompt(session, "hi")
        await toolset.is_building.wait()
        editor.cancel(session)
        await anyio.wait_all_tasks_blocked()
        assert not cancelled.is_answered
        close = editor.start_request("session/close", {"sessionId": session})
        assert await close.response() == expected.result_response(4, {})
        assert await cancelled.response() == expected.result_response(3, expected.CANCELLED)
        toolset.may_build.set()
        assert editor.updates_of(session) == []


# $/cancel_request


async def test_a_request_cancelled_by_id_ends_and_those_queued_behind_it_run(
    tmp_path: Path,
) -> None:
    """Trap 6: of a running prompt."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        running, waiting = editor.start_prompt(session, "wait"), editor.start_prompt(session, "hi")
        await wait_for_text(editor, session, "Working")
        editor.notify("$/cancel_request", {"requestId": running.id})
        assert await running.response() == expected.result_response(3, expected.CANCELLED)
        assert await waiting.response() == expected.result_response(4, expected.END_TURN)


async def test_cancelling_a_queued_request_by_id_affects_only_it(tmp_path: Path) -> None:
    """Trap 6: it is answered at once; the one before it and the one behind it run."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        pending = [editor.start_prompt(session, words) for words in ("wait", "think", "hi")]
        await wait_for_text(editor, session, "Working")
        editor.notify("$/cancel_request", {"requestId": pending[1].id})
        assert await pending[1].response() == expected.result_response(4, expected.CANCELLED)
        assert not pending[0].is_answered
        editor.notify("$/cancel_request", {"requestId": pending[0].id})
        assert await pending[0].response() == expected.result_response(3, expected.CANCELLED)
        assert await pending[2].response() == expected.result_response(5, expected.END_TURN)
        assert editor.agent_text(session) == "WorkingHello."


async def test_requests_are_cancelled_only_by_an_id_of_the_same_type(tmp_path: Path) -> None:
    """Trap 6: 1, "1" and true are three things."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        params = prompt_params(session, "wait")
        editor.send_line(line(id=77, method="session/prompt", params=params))
        editor.send_line(line(id="77", method="session/prompt", params=params))
        await wait_for_text(editor, session, "Working")
        wrong: list[JsonValue] = [
            {"requestId": True},
            {"requestId": 77.0},
            {"requestId": [77]},
            {"requestId": None},
            {"requestId": 78},
            {"requestId": "078"},
            {},
            None,
            [77],
        ]
        for each in wrong:
            editor.notify("$/cancel_request", each)
        editor.notify("$/cancel_request", {"requestId": "77"})
        answer = await editor.wait_for_response(lambda message: message.get("id") in (77, "77"))
        assert answer == expected.result_response("77", expected.CANCELLED)
        editor.notify("$/cancel_request", {"requestId": 77})
        answer = await editor.wait_for_response(lambda message: message.get("id") == 77)
        assert answer == expected.result_response(77, expected.CANCELLED)


async def test_cancelling_an_answered_request_is_ignored(tmp_path: Path) -> None:
    """Trap 6."""
    async with open_checked_editor(make_scripted_registry(tmp_path)) as editor:
        session = await editor.new_session(tmp_path)
        first = editor.start_prompt(session, "hi")
        await first.response()
        editor.notify("$/cancel_request", {"requestId": first.id})
        assert await editor.prompt(session, "hi") == expected.END_TURN


# Models that do not take it well.


async def test_a_model_that_ignores_cancellation_is_abandoned_within_300_ms() -> None:
    """Trap 3: answered, the next prompt runs, and nothing it still says gets out."""
    taken: list[float] = []
    for _ in range(ATTEMPTS):
        model = UncancellableModel()
        registry = make_registry(lambda model=model: model)
        async with open_checked_editor(registry) as editor:
            session = await editor.new_session()
            pending = editor.start_prompt(session, "hang")
            await model.is_blocked.wait()
            begin = anyio.current_time()
            editor.cancel(session)
            assert await pending.response() == expected.result_response(3, expected.CANCELLED)
            taken.append(anyio.current_time() - begin)

            assert await editor.prompt(session, "next") == expected.END_TURN
            model.allowed_to_end.set()
            await model.has_ended.wait()
            assert await editor.prompt(session, "and on") == expected.END_TURN

        assert expected.shorten_ids(list(editor.messages[3:])) == [
            expected.session_update("sess_1", expected.message_chunk("msg_1", "Working")),
            expected.result_response(3, expected.CANCELLED),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "Hello.")),
            expected.result_response(4, expected.END_TURN),
            expected.session_update("sess_1", expected.message_chunk("msg_3", "Hello.")),
            expected.result_response(5, expected.END_TURN),
        ]
        assert list(registry.find(session).context.conversation) == [
            UserMessage((Text("hang"),)),
            AssistantMessage((Text("Working"),)),
            UserMessage((Text("next"),)),
            AssistantMessage((Text("Hello."),)),
            UserMessage((Text("and on"),)),
            AssistantMessage((Text("Hello."),)),
        ]
    assert min(taken) < ANSWER_SECONDS


async def test_prompts_queued_behind_an_uncancellable_model_are_cancelled_immediately() -> None:
    """Trap 3: they have nothing to come to an end with."""
    model = UncancellableModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        running, waiting = editor.start_prompt(session, "hang"), editor.start_prompt(session, "hi")
        await model.is_blocked.wait()
        editor.cancel(session)
        after = editor.start_prompt(session, "next")
        assert await waiting.response() == expected.result_response(4, expected.CANCELLED)
        assert not running.is_answered
        assert await running.response() == expected.result_response(3, expected.CANCELLED)
        assert await after.response() == expected.result_response(5, expected.END_TURN)
        assert editor.agent_text(session) == "WorkingHello."
        model.allowed_to_end.set()


async def test_pending_output_of_an_abandoned_model_to_a_slow_reader_is_dropped() -> None:
    """Trap 1, Trap 3: it waited in the queue's line, and must not come out behind the answer."""
    model = UncancellableTalker()
    registry = make_registry(lambda: model)
    async with open_checked_editor(registry, capacity_bytes=8000) as editor:
        session = await editor.new_session()
        editor.stop_reading()
        pending = editor.start_prompt(session, "chatter")
        await editor.wait_until_full()
        editor.cancel(session)
        await registry.find(session).wait_until_idle()
        editor.resume_reading()
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)
        cut = editor.agent_text(session)
        await model.has_ended.wait()
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert editor.agent_text(session) == f"{cut}Hello."
        assert [each.get("id") for each in editor.messages[-3:]] == [3, None, 4]


@pytest.mark.parametrize(
    "error",
    [
        ModelFailedError("the connection was cut"),
        RuntimeError("cannot be stopped like this"),
        ExceptionGroup("several", [OSError("one"), ValueError("two")]),
        TimeoutError(),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_a_model_that_fails_when_cancelled_is_answered_cancelled(error: Exception) -> None:
    """Trap 3: never an error, and no word of it in the chat."""
    model = RaiseOnCancelModel(error)
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        pending = editor.start_prompt(session, "work")
        await model.started.wait()
        editor.cancel(session)
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)
        assert await editor.prompt(session, "hi") == expected.END_TURN
        assert editor.agent_text(session) == "WorkingHello."


async def test_cancelling_works_while_the_client_does_not_read(tmp_path: Path) -> None:
    """Trap 3: a full queue holds up the turn, never the cancel."""
    script = "prompt: go\nchunks: 100000 abcdefghij\n\nprompt: *\nsay: Hello."
    async with open_checked_editor(
        make_scripted_registry(tmp_path, script), capacity_bytes=1000
    ) as editor:
        session = await editor.new_session(tmp_path)
        editor.stop_reading()
        pending = editor.start_prompt(session, "go")
        await editor.wait_until_full()
        editor.cancel(session)
        editor.resume_reading()
        assert await pending.response() == expected.result_response(3, expected.CANCELLED)
        assert await editor.prompt(session, "hi") == expected.END_TURN
        answers: list[Object] = [each for each in editor.messages if "id" in each]
        assert answers[2:] == [
            expected.result_response(3, expected.CANCELLED),
            expected.result_response(4, expected.END_TURN),
        ]
