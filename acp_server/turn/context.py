"""What a turn runs with: model, tools, system prompt, and the services around the conversation."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.compaction import drop_reasoning
from acp_server.turn.context_counter import ContextCounter, MeteredRequest, ModelMeter
from acp_server.turn.conversation import Conversation, Message, PromptPart, ToolResult
from acp_server.turn.ports import Model, ModelRequest, Toolbox, TurnSink
from acp_server.turn.repetition import ContinueAsker
from acp_server.turn.spending_limit import SpendingLimit
from acp_server.turn.step import NewId


@frozen_dataclass
class Instructions:
    """Instructions for the model, and the names of their source files for the user."""

    text: str
    labels: tuple[str, ...]


class ContextMaintenance(Protocol):
    """Maintains a conversation between model requests."""

    async def prepare_request(
        self, conversation: Conversation, context: "TurnContext", sink: TurnSink
    ) -> "TurnContext":
        """Return the context for the next model request.

        May compact the conversation first.
        """
        ...

    async def bound_results(
        self, conversation: Conversation, context: "TurnContext", results: Sequence[ToolResult]
    ) -> Sequence[ToolResult]:
        """Return the results of a batch, cut to their share of the context window."""
        ...

    async def find_instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: TurnSink
    ) -> Mapping[str, Instructions]:
        """Return instructions to add to tool results, by call id, for the paths they touched.

        They come from instruction files in the directories that the work has reached.
        """
        ...


class MidTurnInput(Protocol):
    """User input that arrives while a turn runs."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing arrived since the last `take`."""
        ...

    async def take(self, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the input that arrived since the last call."""
        ...


class DurabilityPort(Protocol):
    """Makes a turn durable as it proceeds."""

    async def commit(self) -> None:
        """Return once everything recorded so far survives the end of this process."""
        ...

    def sync(self) -> None:
        """Note that a step is complete."""
        ...


@frozen_dataclass
class FallbackModel:
    """A model that takes over for the rest of a turn when the turn's own is out of service."""

    name: str
    model: Model
    meter: ModelMeter


@frozen_dataclass
class TurnContext:
    """Everything that one turn runs with: model, tools, prompt, optional services."""

    model: Model
    meter: ModelMeter
    toolbox: Toolbox
    new_id: NewId
    system: str = ""
    thought_level: str | None = None
    is_fast: bool = False
    """Whether to ask for fast mode; each speed has a prompt cache of its own, so all requests that
    begin with the conversation ask alike."""
    max_requests: int = 100
    resume_wait_seconds: float = 0.5
    """Wait before resuming a broken stream, doubled each time."""
    maintenance: ContextMaintenance | None = None
    durability: DurabilityPort | None = None
    mid_turn_input: MidTurnInput | None = None
    spending_limit: SpendingLimit | None = None
    """Cost limit of the session, at which the user is asked."""
    may_say_nothing: bool = False
    """Whether an empty answer is as good as any, as in background work."""
    continue_asker: ContinueAsker | None = None
    """Asks the user whether to go on; None if nobody can be asked."""
    take_notices: Callable[[], Sequence[str]] | None = None
    """Returns pending notices for the model: events that no call of its asked for. Each is
    returned once."""
    carry_over: Callable[[Sequence[Message]], Sequence[Message]] | None = None
    """Returns an exchange that restates what the tools keep in messages, such as the task list,
    for a conversation that loses these messages."""
    counter: ContextCounter = field(default_factory=ContextCounter)
    """Counts the requests of the conversation that this is the context of."""
    fallbacks: tuple[FallbackModel, ...] = ()
    """Models to use instead, in this order."""
    is_fallback: bool = False
    """Whether `model` is one of them. Signatures bind reasoning to the model that wrote it, so it
    is sent none, and its own is not stored: the next turn is another model's."""

    def request(self, messages: Sequence[Message]) -> ModelRequest:
        """Return the request that sends these messages."""
        messages = drop_reasoning(messages) if self.is_fallback else messages
        specs = tuple(self.toolbox.specs)
        return ModelRequest(messages, self.system, specs, self.thought_level, self.is_fast)

    def with_next_fallback(self) -> "TurnContext":
        """Return the context with its first fallback as the model."""
        first, *others = self.fallbacks
        return replace(
            self,
            model=first.model,
            meter=first.meter,
            fallbacks=tuple(others),
            is_fallback=True,
        )

    def metered_request(self, conversation: Conversation) -> MeteredRequest:
        """Return the request that sends the conversation as it is now."""
        request = replace(
            self.request(tuple(conversation)),
            used_call_ids=conversation.call_ids,
            settled_ends=conversation.settled_ends,
        )
        return MeteredRequest(self.model, self.meter, request, conversation.generation)

    @property
    def max_request_tokens(self) -> int:
        """How large a request may be, so that there is room for its answer."""
        return self.counter.max_request_tokens(self.model, self.meter)

    @property
    def window_tokens(self) -> int:
        """Size of the context window: prompt and answer together."""
        return self.counter.window_tokens(self.model, self.meter)
