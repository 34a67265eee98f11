"""One step: the model is asked once, what it streams is shown and kept."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from acp_server.turn.conversation import AssistantMessage, ReplyPart, Text, Thinking
from acp_server.turn.errors import ModelFailedError, TurnError
from acp_server.turn.events import MessageChunk, ThoughtChunk
from acp_server.turn.ports import Model, ModelEvent, ModelRequest, ModelStop, Sink, TextDelta

logger = logging.getLogger(__name__)

NewId = Callable[[], str]


@dataclass(slots=True)
class _Block:
    """A run of deltas of one kind: one message, or one thought, to the user."""

    is_text: bool
    message_id: str
    pieces: list[str] = field(default_factory=list[str])

    def part(self) -> ReplyPart:
        text = "".join(self.pieces)
        return Text(text) if self.is_text else Thinking(text)


class Step:
    """Collects the stream of one model call while passing it on."""

    def __init__(self, model: Model, sink: Sink, new_id: NewId) -> None:
        self._model = model
        self._sink = sink
        self._new_id = new_id
        self._blocks: list[_Block] = []

    async def run(self, request: ModelRequest) -> ModelStop:
        """Ask the model.

        Raises:
            TurnError: the model cannot be asked, or failed, in whatever way.
        """
        try:
            return await self._model.respond(request, self._receive)
        except TurnError:
            raise
        except Exception as error:
            logger.exception("the model adapter failed")
            reason = f"the model failed unexpectedly: {type(error).__name__}: {error}"
            raise ModelFailedError(reason) from error

    def message(self) -> AssistantMessage | None:
        """Return what was said so far, also after a cancelled or failed run; None for nothing."""
        parts = tuple(block.part() for block in self._blocks)
        return AssistantMessage(parts) if parts else None

    async def _receive(self, event: ModelEvent) -> None:
        if not event.text:
            return
        is_text = isinstance(event, TextDelta)
        if not self._blocks or self._blocks[-1].is_text != is_text:
            self._blocks.append(_Block(is_text, self._new_id()))
        block = self._blocks[-1]
        block.pieces.append(event.text)
        chunk = MessageChunk if is_text else ThoughtChunk
        await self._sink.emit(chunk(block.message_id, event.text))
