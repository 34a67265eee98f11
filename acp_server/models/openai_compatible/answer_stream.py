"""What the streams of both API formats know of an answer while it arrives."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable

from acp_server.models.reasoning_signature import ReasoningSignature
from acp_server.text.json_values import Object
from acp_server.turn.ports import ModelEvent, ModelStop

DONE = "[DONE]"
"""The data of the last event; not part of the Responses API, but some endpoints send it there."""


class AnswerStream(ABC):
    """State of one answer being streamed; translates events and tracks how the answer ends."""

    def __init__(self, signature: ReasoningSignature, new_call_id: Callable[[str], str]) -> None:
        """Start an answer; `new_call_id` maps a wire id to one unique in the conversation."""
        self.stop: ModelStop | None = None
        """The stop reason; None until it has arrived."""
        self.is_closed = False
        """Whether the answer is complete."""
        self.has_started = False
        """Whether any event has arrived."""
        self.has_content = False
        """Whether any content was passed on; the user may have seen it."""
        self.has_usage = False
        """Whether the endpoint has reported token usage."""
        self.character_count = 0
        """Characters received, to estimate the usage if the endpoint does not report it."""
        self._signature = signature
        self._new_call_id = new_call_id
        self._is_refusal = False

    @abstractmethod
    def translate(self, data: str) -> Iterable[ModelEvent]:
        """Translate the data of an event.

        Raises:
            MalformedOpenAiEventError: The data is not an event of the format.
            OpenAiStreamError: The event reports an error of the endpoint.
        """

    @abstractmethod
    def translate_complete(self, body: Object) -> Iterable[ModelEvent]:
        """Translate a complete answer that an endpoint sent instead of the requested stream.

        Raises:
            OpenAiStreamError: The answer reports an error of the endpoint.
        """
