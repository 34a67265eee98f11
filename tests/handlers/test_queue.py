"""Prompts that come while a turn runs: each waits for its place, and nothing is lost."""

from dataclasses import replace
from pathlib import Path

import pytest
from anyio import wait_all_tasks_blocked
from pydantic import JsonValue

from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.session.registry import SessionRegistry
from acp_server.turn.conversation import AssistantMessage, Text, UserMessage
from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel, LateModel, TwoPartModel
from tests.support.archive import MemoryArchive
from tests.support.editor import json_at
from tests.support.server_parts import MODEL_ID, make_registry, make_services


async def test_three_concurrent_prompts_are_answered_in_order_each_after_its_own_updates() -> None:
    """Trap 14, Trap 15, ACP-PROMPT."""
    model = TwoPartModel()
    registry = make_registry(lambda: model)
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        pending = [editor.start_prompt(session, words) for words in ("one", "two", "three")]
        for words in ("three", "two", "one"):  # the order in which they could end changes nothing
            model.allow_end(words)
        for each in pending:
            await each.response()
        assert expected.shorten_ids(list(editor.messages[3:])) == [
            expected.session_update("sess_1", expected.message_chunk("msg_1", "one begins")),
            expected.session_update("sess_1", expected.message_chunk("msg_1", "one ends")),
            expected.result_response(3, expected.END_TURN),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "two begins")),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "two ends")),
            expected.result_response(4, expected.END_TURN),
            expected.session_update("sess_1", expected.message_chunk("msg_3", "three begins")),
            expected.session_update("sess_1", expected.message_chunk("msg_3", "three ends")),
            expected.result_response(5, expected.END_TURN),
        ]
        assert list(registry.find(session).context.conversation) == [
            UserMessage((Text("one"),)),
            AssistantMessage((Text("one beginsone ends"),)),
            UserMessage((Text("two"),)),
            AssistantMessage((Text("two beginstwo ends"),)),
            UserMessage((Text("three"),)),
            AssistantMessage((Text("three beginsthree ends"),)),
        ]


async def test_a_queued_prompt_sends_no_updates_before_its_turn() -> None:
    """Trap 14."""
    model = TwoPartModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        first, second = editor.start_prompt(session, "one"), editor.start_prompt(session, "two")
        await editor.wait_until(lambda: editor.agent_text(session) or None, "first word")
        assert editor.agent_text(session) == "one begins"
        assert (first.is_answered, second.is_answered) == (False, False)
        model.allow_end("one")
        await editor.wait_until(lambda: "two" in editor.agent_text(session) or None, "second word")
        assert (first.is_answered, second.is_answered) == (True, False)
        model.allow_end("two")
        assert await second.response() == expected.result_response(4, expected.END_TURN)


async def test_a_command_that_changes_something_is_queued_like_any_prompt() -> None:
    """Trap 14."""
    model = LateModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        first = editor.start_prompt(session, "one")
        await model.is_asked.wait()
        mode = editor.start_prompt(session, "/mode plan")
        version = editor.start_prompt(session, "/version")
        await version.response()
        assert (first.is_answered, mode.is_answered) == (False, False)
        model.may_answer.set()
        assert await mode.response() == expected.result_response(4, expected.END_TURN)


@pytest.mark.parametrize("command", ["usage", "context", "help", "memory", "checkpoints"])
async def test_a_command_that_only_reads_is_answered_while_a_turn_runs(command: str) -> None:
    model = LateModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        running = editor.start_prompt(session, "one")
        await model.is_asked.wait()
        answer = await editor.start_prompt(session, f"/{command}").response()
        assert answer == expected.result_response(4, expected.END_TURN)
        shown = editor.agent_text(session)
        assert shown
        assert not running.is_answered
        model.may_answer.set()
        assert await running.response() == expected.result_response(3, expected.END_TURN)
        assert editor.agent_text(session) == f"{shown}Done."
        assert await editor.prompt(session, "two") == expected.END_TURN


async def test_such_a_command_is_not_answered_within_a_text_of_the_turn() -> None:
    model = TwoPartModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        editor.start_prompt(session, "one")
        await editor.wait_until(lambda: editor.agent_text(session) or None, "first word")
        version = editor.start_prompt(session, "/version")
        await wait_all_tasks_blocked()
        assert editor.agent_text(session) == "one begins"
        model.allow_end("one")
        assert await version.response() == expected.result_response(4, expected.END_TURN)
        assert editor.agent_text(session).startswith("one beginsone endsacp-server ")


async def test_a_cancel_ends_the_turn_and_a_command_that_waits_for_its_text() -> None:
    model = TwoPartModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        pending = [editor.start_prompt(session, "one")]
        await editor.wait_until(lambda: editor.agent_text(session) or None, "first word")
        pending.append(editor.start_prompt(session, "/version"))
        await wait_all_tasks_blocked()
        editor.cancel(session)
        for number, each in enumerate(pending, 3):
            answer = expected.result_response(number, {"stopReason": "cancelled"})
            assert await each.response() == answer


async def test_a_command_answered_meanwhile_is_replayed_where_it_was_shown() -> None:
    model = LateModel()
    catalog = FixedCatalog(MODEL_ID, MODEL_ID, lambda: model)
    registry = SessionRegistry(replace(make_services(catalog), archive=MemoryArchive()))
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session()
        running = editor.start_prompt(session, "one")
        await model.is_asked.wait()
        await editor.start_prompt(session, "/version").response()
        model.may_answer.set()
        await running.response()
        before = len(editor.updates_of(session))
        await editor.call("session/load", {"sessionId": session, "cwd": "/", "mcpServers": []})
        replayed = [
            str(json_at(each, "content", "text")).split(" ")[0]
            for each in editor.updates_of(session)[before:]
            if "message_chunk" in str(json_at(each, "sessionUpdate"))
        ]
        assert replayed == ["one", "/version", "acp-server", "Done."]


async def test_a_turn_of_one_session_does_not_delay_others() -> None:
    """Trap 15."""
    model = TwoPartModel()
    async with open_checked_editor(model) as editor:
        slow, quick = await editor.new_session(), await editor.new_session()
        pending = editor.start_prompt(slow, "one")
        model.allow_end("two")
        assert await editor.prompt(quick, "two") == expected.END_TURN
        assert not pending.is_answered
        model.allow_end("one")
        assert await pending.response() == expected.result_response(4, expected.END_TURN)


async def test_a_failed_turn_reports_its_error_before_the_next_turn_starts(tmp_path: Path) -> None:
    """Trap 1, Trap 14: also when the reader is slow."""
    script = "prompt: fail\nchunks: 50 abcdefghij\nfail: broken\n\nprompt: *\nsay: Hello."
    async with open_checked_editor(
        make_scripted_registry(tmp_path, script), capacity_bytes=1000
    ) as editor:
        session = await editor.new_session(tmp_path)
        editor.stop_reading()
        first, second = editor.start_prompt(session, "fail"), editor.start_prompt(session, "hi")
        await editor.wait_until_full()
        editor.resume_reading()
        assert await second.response() == expected.result_response(4, expected.END_TURN)
        assert await first.response() == expected.error_response(
            3, -32603, "", "broken", kind="other"
        )
        assert expected.shorten_ids(list(editor.messages[-5:])) == [
            expected.session_update("sess_1", expected.message_chunk("msg_1", "abcdefghij")),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "broken")),
            expected.error_response(3, -32603, "", "broken", kind="other"),
            expected.session_update("sess_1", expected.message_chunk("msg_3", "Hello.")),
            expected.result_response(4, expected.END_TURN),
        ]


async def test_a_hundred_concurrent_prompts_are_all_answered_in_order() -> None:
    """Trap 14: none is rejected, none is lost."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session()
        pending = [editor.start_prompt(session, f"{number},") for number in range(100)]
        answers: list[JsonValue] = [(await each.response())["result"] for each in pending]
        assert answers == [expected.END_TURN] * 100
        assert editor.agent_text(session) == "".join(f"{number}," for number in range(100))
