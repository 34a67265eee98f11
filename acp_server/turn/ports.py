"""What a turn needs of the world: a model to ask, tools to use, and somebody to tell.

All directions are awaited calls, not callbacks and not generators: whoever is slow holds the
stream back, and nothing is left suspended half-way when a turn is cancelled.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.turn.conversation import Link, Media, Message, PromptPart, ToolCall
from acp_server.turn.events import CallContent, Event, Usage

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
"""Why a turn ended, in the words of the field."""

ModelStop = Literal["end_turn", "max_tokens", "refusal", "tool_use", "pause"]
"""Why a model stopped: `tool_use` waits for results, `pause` wants to be asked to go on."""


@frozen
class ToolSpec:
    """A tool as the model sees it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, JsonValue]
    streams_arguments: bool = False
    """Whether arguments are wanted as they are written, at the price of possibly broken JSON."""


@frozen
class ModelRequest:
    """One call of the model: everything said so far, the newest user message last."""

    messages: Sequence[Message]
    system: str = ""
    tools: Sequence[ToolSpec] = field(default_factory=tuple[ToolSpec, ...])
    thought_level: str | None = None


@frozen
class TextDelta:
    """The model says more; `is_new` begins another block of text."""

    text: str
    is_new: bool = False


@frozen
class ThinkingDelta:
    """The model thinks more; `is_new` begins another thought."""

    text: str
    is_new: bool = False


@frozen
class ThinkingSigned:
    """The current thought is complete and sealed."""

    signature: str


@frozen
class ThinkingRedacted:
    """A whole thought that only the provider can read."""

    data: str


@frozen
class CallStarted:
    """The model begins a tool call."""

    call_id: str
    name: str


@frozen
class CallArguments:
    """More of a call's arguments, as JSON text."""

    call_id: str
    fragment: str


@frozen
class CallEnded:
    """A call's arguments are all there."""

    call_id: str


@frozen
class TextCited:
    """The current text rests on a source, in the provider's words."""

    citation: Mapping[str, JsonValue]


@frozen
class ProviderCalled:
    """The provider uses a tool of its own; `block` is that in its words."""

    call_id: str
    name: str
    title: str
    arguments: Mapping[str, JsonValue]
    block: Mapping[str, JsonValue]


@frozen
class ProviderAnswered:
    """What a provider's tool led to: a text for the user, and `block` to be sent back."""

    call_id: str
    text: str
    block: Mapping[str, JsonValue]
    is_error: bool = False


@frozen
class Retrying:
    """The model could not be reached; it is asked again after a wait."""

    reason: str
    wait_seconds: float
    attempt: int
    attempts: int


@frozen
class UsageReported:
    """What this call has cost so far, in all; the last report counts."""

    usage: Usage


ModelEvent = (
    TextDelta
    | ThinkingDelta
    | ThinkingSigned
    | ThinkingRedacted
    | CallStarted
    | CallArguments
    | CallEnded
    | TextCited
    | ProviderCalled
    | ProviderAnswered
    | Retrying
    | UsageReported
)
Receive = Callable[[ModelEvent], Awaitable[None]]


class Model(Protocol):
    """A language model."""

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Stream the answer into `receive`, in order, and return why it ended.

        Cancelling must be possible at every await, and leaves nothing running.

        Raises:
            TurnError: the model cannot be asked, or failed; what was received stands.
            ModelInterruptedError: the stream broke after something of it had been received.
        """
        ...


class Sink(Protocol):
    """Where a turn's events go."""

    async def emit(self, event: Event) -> None:
        """Show one event; waits while the user's side is slow."""
        ...

    def emit_now(self, event: Event) -> None:
        """Show one event that must be shown, also while the turn is being cancelled."""
        ...


@frozen
class Outcome:
    """What a call led to: the text and the media for the model, the rest for the user."""

    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()
    shown: tuple[CallContent, ...] | None = None
    """What the user sees of it; None shows the text and the media."""
    raw_output: Mapping[str, JsonValue] | None = None
    touched: tuple[str, ...] = ()
    """Absolute paths that it read, wrote, searched or named: where instructions may wait."""
    ends_turn: bool = False
    """Whether the model is not to be asked again until the user has said something."""


class LiveCall(Protocol):
    """One call, from its first word to its end."""

    async def write(self, fragment: str) -> None:
        """Take more of the arguments, and show what they tell; nothing has an effect yet."""
        ...

    async def run(self, call: ToolCall) -> Outcome:
        """Do it, together with other calls. A failure is an outcome, never an exception."""
        ...

    def cut_short(self, reason: str) -> Outcome:
        """Return what the call led to that began to run and did not come to its end."""
        ...


class Toolbox(Protocol):
    """The tools of a session."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the model is told; the same, in order and bytes, between rebuilds."""
        ...

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Show that the model begins a call, of any tool, and return it."""
        ...

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return what a link of the user's leads to, as far as it is a file that may be read."""
        ...

    async def close(self) -> None:
        """End all that still runs: the session is over."""
        ...
