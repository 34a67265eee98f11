"""Prompts that come while a turn runs: each waits for its place, and nothing is lost."""

from pathlib import Path

from pydantic import JsonValue

from acp_server.turn.conversation import AssistantMessage, Text, UserMessage
from tests.handlers import expected
from tests.handlers.checked_editor import make_scripted_registry, open_checked_editor
from tests.handlers.fake_models import EchoModel, TwoPartModel
from tests.support.server_parts import make_registry


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


async def test_a_command_is_queued_like_any_prompt() -> None:
    """Trap 14."""
    model = TwoPartModel()
    async with open_checked_editor(model) as editor:
        session = await editor.new_session()
        editor.start_prompt(session, "one")
        version = editor.start_prompt(session, "/version")
        await editor.wait_until(lambda: editor.agent_text(session) or None, "first word")
        assert editor.agent_text(session) == "one begins"
        model.allow_end("one")
        assert await version.response() == expected.result_response(4, expected.END_TURN)


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
            3, -32603, "The turn failed", "broken", kind="other"
        )
        assert expected.shorten_ids(list(editor.messages[-5:])) == [
            expected.session_update("sess_1", expected.message_chunk("msg_1", "abcdefghij")),
            expected.session_update("sess_1", expected.message_chunk("msg_2", "broken")),
            expected.error_response(3, -32603, "The turn failed", "broken", kind="other"),
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
