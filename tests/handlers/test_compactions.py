"""Summing a conversation up, as clients see it: as such where they can, else as a notice."""

import pytest
from pydantic import JsonValue

from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.session.registry import SessionRegistry
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.ports import TextDelta
from tests.handlers import expected
from tests.handlers.checked_editor import open_checked_editor
from tests.support.server_parts import MODEL_ID, make_services
from tests.support.user_texts import CONVERSATION_NOW_HAS, CONVERSATION_SUMMARIZED
from tests.turn.turn_harness import ModelRound, RoundModel

SHOWN: JsonValue = {"session": {"compaction": {}}}
NOTICED: JsonValue = {"session": {"notices": {}}}
TITLE = f"{CONVERSATION_SUMMARIZED}: 30 messages became 2"
ANSWERS = [ModelRound([TextDelta("Yes.")])] * 15
SUMMARY = ModelRound([TextDelta("So far "), TextDelta("so good.")])
FAILING = ModelRound([TextDelta("So")], ModelFailedError("overloaded"))


def changed(status: str, **more: JsonValue) -> JsonValue:
    return {
        "sessionUpdate": "compaction_update",
        "compactionId": "msg_1",
        "status": status,
        **more,
    }


def summary_chunk(text: str) -> JsonValue:
    return {
        "sessionUpdate": "compaction_summary_chunk",
        "compactionId": "msg_1",
        "content": {"type": "text", "text": text},
    }


def registry(*rounds: ModelRound) -> SessionRegistry:
    model = RoundModel(*rounds)
    return SessionRegistry(make_services(FixedCatalog(MODEL_ID, MODEL_ID, lambda: model)))


async def shown(capabilities: JsonValue, last: ModelRound) -> list[JsonValue]:
    """Talk for a while, have it summed up; return the updates of that."""
    engine = registry(*ANSWERS, last)
    async with open_checked_editor(engine, capabilities=capabilities) as editor:
        session = await editor.new_session()
        for _ in ANSWERS:
            await editor.prompt(session, "hi")
        count = len(editor.updates_of(session))
        await editor.start_prompt(session, "/compact").response()
        updates = expected.shorten_ids(editor.updates_of(session)[count:])
        assert isinstance(updates, list)
        return updates


async def test_a_client_that_supports_compactions_sees_the_summary_stream() -> None:
    assert await shown(SHOWN, SUMMARY) == [
        changed("in_progress"),
        summary_chunk("So far "),
        summary_chunk("so good."),
        changed("completed"),
        expected.message_chunk("msg_2", f"{CONVERSATION_NOW_HAS} 2 messages."),
    ]


async def test_a_client_that_supports_compactions_sees_the_failure_reason() -> None:
    assert await shown(SHOWN, FAILING) == [
        changed("in_progress"),
        summary_chunk("So"),
        changed("failed", error="overloaded"),
        expected.message_chunk("msg_2", "overloaded"),
    ]


async def test_a_client_with_only_notices_gets_one_when_the_compaction_ends() -> None:
    assert await shown(NOTICED, SUMMARY) == [
        {"sessionUpdate": "notice", "severity": "info", "title": TITLE},
        expected.message_chunk("msg_1", f"{CONVERSATION_NOW_HAS} 2 messages."),
    ]


@pytest.mark.parametrize("capabilities", [None, {"session": {}}], ids=["nothing", "no updates"])
async def test_any_other_client_gets_compactions_as_thoughts(capabilities: JsonValue) -> None:
    assert await shown(capabilities, SUMMARY) == [
        expected.thought_chunk("msg_1", f"{TITLE}\n"),
        expected.message_chunk("msg_2", f"{CONVERSATION_NOW_HAS} 2 messages."),
    ]
