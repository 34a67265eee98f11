"""The turn: a user's message in, steps until the model is done, a stop reason out."""

from acp_server.turn.conversation import Conversation, UserMessage
from acp_server.turn.ports import Model, ModelRequest, Sink, StopReason
from acp_server.turn.step import NewId, Step


class Turn:
    """One prompt's way through a conversation."""

    def __init__(self, conversation: Conversation, model: Model, new_id: NewId) -> None:
        self._conversation = conversation
        self._model = model
        self._new_id = new_id
        self._step: Step | None = None

    async def run(self, prompt: UserMessage, sink: Sink) -> StopReason:
        """Answer the prompt. Whatever was said is in the conversation, however the turn ends.

        Raises:
            TurnError: the model cannot be asked, or failed.
        """
        self._conversation.append(prompt)
        self._step = Step(self._model, sink, self._new_id)
        try:
            return await self._step.run(ModelRequest(tuple(self._conversation)))
        finally:
            self.settle()

    def settle(self) -> None:
        """Put what was said so far into the conversation; what is said later is forgotten.

        For a turn that is given up while it still runs: the next prompt comes behind it.
        """
        step, self._step = self._step, None
        said = step.message() if step is not None else None
        if said is not None:
            self._conversation.append(said)
