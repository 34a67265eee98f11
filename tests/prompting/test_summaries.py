"""A refusal is no summary: nothing of the conversation is given up for it."""

import pytest

from acp_server.session.prompting.compaction import Compactor
from acp_server.turn.conversation import AssistantMessage, Conversation, Message, Text, UserMessage
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Usage
from acp_server.turn.loop import TurnContext, UsageTotals
from acp_server.turn.ports import TextDelta, UsageReported
from tests.turn.fake_sinks import MemorySink, SequentialIds
from tests.turn.turn_harness import CharacterMeter, FunctionTools, ModelRound, RoundModel

EXCHANGE: tuple[Message, ...] = (
    UserMessage((Text("a question"),)),
    AssistantMessage((Text("an answer"),)),
)


async def test_a_refused_summary_leaves_the_conversation_unchanged() -> None:
    refusal = ModelRound([TextDelta("I cannot do that."), UsageReported(Usage(90, 5))], "refusal")
    turn_context = TurnContext(
        RoundModel(refusal), CharacterMeter(1_000), FunctionTools(), SequentialIds(), system="old"
    )
    conversation, totals = Conversation(), UsageTotals()
    conversation.rebuild(EXCHANGE * 20)

    async def rebuild() -> str:
        pytest.fail("the system prompt was written anew")

    compactor = Compactor(totals, rebuild)
    with pytest.raises(ModelFailedError, match="the model returned no text"):
        await compactor.compact(conversation, turn_context, MemorySink())
    assert (tuple(conversation), conversation.generation) == (EXCHANGE * 20, 1)
    assert (totals.usage, totals.requests) == (Usage(90, 5), 1)
