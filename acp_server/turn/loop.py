"""The turn: a user's message in, steps until the model is done, a stop reason out."""

from acp_server.turn.conversation import Conversation, UserMessage
from acp_server.turn.ports import Model, ModelRequest, Sink, StopReason
from acp_server.turn.step import NewId, Step


async def run_turn(
    conversation: Conversation, prompt: UserMessage, model: Model, sink: Sink, new_id: NewId
) -> StopReason:
    """Answer one prompt. Whatever was said is in the conversation, however the turn ends.

    Raises:
        TurnError: the model cannot be asked, or failed.
    """
    conversation.append(prompt)
    step = Step(model, sink, new_id)
    try:
        return await step.run(ModelRequest(tuple(conversation)))
    finally:
        said = step.message()
        if said is not None:
            conversation.append(said)
