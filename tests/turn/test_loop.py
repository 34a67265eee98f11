"""A turn: what it asks the model, and what it leaves in the conversation however it ends."""

import anyio
import pytest

from acp_server.turn.conversation import AssistantMessage, Conversation, Text, UserMessage
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import MessageChunk
from acp_server.turn.loop import Turn
from acp_server.turn.ports import ModelRequest
from tests.handlers.models import Echo, Failing, Stubborn
from tests.turn.recording import Ids, RecordingSink

HI = UserMessage((Text("hi"),))
HANG = UserMessage((Text("hang"),))


async def test_a_turn_shows_the_answer_and_leaves_both_sides_in_the_conversation() -> None:
    conversation, sink = Conversation(), RecordingSink()
    assert await Turn(conversation, Echo(), Ids()).run(HI, sink) == "end_turn"
    assert sink.events == [MessageChunk("m1", "hi")]
    assert list(conversation) == [HI, AssistantMessage((Text("hi"),))]


async def test_the_model_is_asked_with_all_that_was_said_the_newest_prompt_last() -> None:
    conversation, model = Conversation(), Stubborn()
    for _ in range(2):
        await Turn(conversation, model, Ids()).run(HI, RecordingSink())
    answer = AssistantMessage((Text("Hello."),))
    assert model.requests == [ModelRequest((HI,)), ModelRequest((HI, answer, HI))]


async def test_a_turn_that_fails_leaves_what_was_said() -> None:
    conversation = Conversation()
    with pytest.raises(ModelFailedError):
        await Turn(conversation, Failing(ModelFailedError("x")), Ids()).run(HI, RecordingSink())
    assert list(conversation) == [HI, AssistantMessage((Text("So far"),))]


async def test_a_turn_that_fails_before_a_word_leaves_the_prompt() -> None:
    conversation = Conversation()
    turn = Turn(conversation, Failing(ModelFailedError("x"), said=""), Ids())
    with pytest.raises(ModelFailedError):
        await turn.run(HI, RecordingSink())
    assert list(conversation) == [HI]


async def test_a_turn_that_is_settled_early_keeps_what_was_said_until_then_and_no_more() -> None:
    conversation, model, sink = Conversation(), Stubborn(), RecordingSink()
    turn = Turn(conversation, model, Ids())
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.run, HANG, sink)
            await model.hangs.wait()
            turn.settle()
            conversation.append(HI)
            turn.settle()
            model.may_end.set()
    assert list(conversation) == [HANG, AssistantMessage((Text("Working"),)), HI]
    assert sink.text == "Working, too late"


def test_settling_a_turn_that_has_not_begun_changes_nothing() -> None:
    conversation = Conversation()
    Turn(conversation, Echo(), Ids()).settle()
    assert list(conversation) == []
