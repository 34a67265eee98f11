"""Ports of the turn engine: the model, the toolbox and the event sink.

Every direction is an awaited call, not a callback or a generator. A slow receiver therefore slows
the model stream down, and cancelling a turn leaves no suspended generator behind.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import field
from typing import Literal, Protocol

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_access import CallAccess
from acp_server.turn.conversation import Link, Media, Message, PromptPart, ToolCall
from acp_server.turn.events import CallContent, Event, Usage

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
"""Why a turn ended, in ACP's words."""

ModelStop = Literal[
    "end_turn", "max_tokens", "refusal", "content_filter", "tool_use", "pause", "written_call"
]
"""Why the model stopped: `tool_use` expects results, `pause` expects another request. A `refusal`
is the model's own, a `content_filter` the provider's. With `written_call` the answer ends with a
tool call that the model wrote as text."""


@frozen_dataclass
class ToolSpec:
    """A tool as the model sees it; `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, JsonValue]
    streams_arguments: bool = False
    """Whether to stream arguments while they are written; they may then turn out to be invalid
    JSON."""
    full_schema: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The schema with defaults and limits that `schema` leaves out; empty if it has them."""


@frozen_dataclass
class ModelRequest:
    """One request to the model: the conversation so far, the newest user message last."""

    messages: Sequence[Message]
    system: str = ""
    tools: Sequence[ToolSpec] = field(default_factory=tuple[ToolSpec, ...])
    thought_level: str | None = None
    is_fast: bool = False
    """Whether to ask for fast mode; ignored by a model that has none."""
    prompt_tokens: int | None = field(default=None, compare=False)
    """The tokens of all this, if the turn knows them better than an estimate would."""
    used_call_ids: Collection[str] = field(default=(), compare=False)
    """Ids of earlier calls that are no longer in the messages; a new call must not have them."""
    settled_ends: tuple[int, ...] = field(default=(), compare=False)
    """`Conversation.settled_ends`: where cache breakpoints outlive the removal of results."""


@frozen_dataclass
class TextDelta:
    """More answer text; `is_new` starts another text block."""

    text: str
    is_new: bool = False


@frozen_dataclass
class ThinkingDelta:
    """More reasoning; `is_new` starts another thought."""

    text: str
    is_new: bool = False


@frozen_dataclass
class ThinkingSigned:
    """The current thought is complete; carries the provider's signature."""

    signature: str


@frozen_dataclass
class ThinkingRedacted:
    """A complete thought that only the provider can read."""

    data: str


@frozen_dataclass
class ToolCallStarted:
    """The model starts a tool call."""

    call_id: str
    name: str


@frozen_dataclass
class ToolCallDelta:
    """A piece of a call's arguments, as JSON text."""

    call_id: str
    fragment: str


@frozen_dataclass
class ToolCallCompleted:
    """A call's arguments are complete."""

    call_id: str


@frozen_dataclass
class TextCited:
    """A citation for the current text, in the provider's format."""

    citation: Mapping[str, JsonValue]


@frozen_dataclass
class ServerToolCalled:
    """The provider runs a server-side tool; `block` is the call in the provider's format."""

    call_id: str
    name: str
    title: str
    arguments: Mapping[str, JsonValue]
    block: Mapping[str, JsonValue]


@frozen_dataclass
class ServerToolResult:
    """The result of a server-side tool: text for the user, and `block` to send back."""

    call_id: str
    text: str
    block: Mapping[str, JsonValue]
    is_error: bool = False


@frozen_dataclass
class Retrying:
    """The model could not be reached; the request is retried after a wait."""

    reason: str
    wait_seconds: float
    attempt: int
    attempts: int


@frozen_dataclass
class FastModeStopped:
    """The endpoint did not run a request in fast mode; it was sent again at normal speed."""

    reason: str
    number: int
    """Counts such stops: several requests may report the same one."""
    is_final: bool
    """Whether the endpoint has no fast mode of this model, now and later."""


@frozen_dataclass
class UsageReported:
    """Total usage of this call so far; the last report counts."""

    usage: Usage
    model: str = ""
    """The model as its endpoint names it in the answer; empty if it does not."""


ModelEvent = (
    TextDelta
    | ThinkingDelta
    | ThinkingSigned
    | ThinkingRedacted
    | ToolCallStarted
    | ToolCallDelta
    | ToolCallCompleted
    | TextCited
    | ServerToolCalled
    | ServerToolResult
    | Retrying
    | FastModeStopped
    | UsageReported
)
ReceiveEvent = Callable[[ModelEvent], Awaitable[None]]


class Model(Protocol):
    """A language model."""

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Stream the answer into `receive`, in order, and return why the model stopped.

        Every await must be cancellable, and cancelling must leave nothing running.

        Raises:
            TurnError: the model cannot be asked, or failed; events received so far stay valid.
            ModelInterruptedError: the stream broke after part of the response had arrived.
            ContextOverflowError: the request does not fit the context window.
        """
        ...


class TurnSink(Protocol):
    """Receives a turn's events."""

    async def emit(self, event: Event) -> None:
        """Show an event; waits while the client is slow."""
        ...

    def emit_now(self, event: Event) -> None:
        """Show an event without waiting; for events that must appear even during cancellation."""
        ...


@frozen_dataclass
class ToolOutcome:
    """The result of a tool call: text and media for the model, the rest for the user."""

    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()
    shown: tuple[CallContent, ...] | None = None
    """What the user sees of it; None shows the text and the media."""
    raw_output: Mapping[str, JsonValue] | None = None
    touched_paths: tuple[str, ...] = ()
    """Absolute paths that the call read, wrote, searched or named; their directories may hold
    instruction files."""
    saved_to: str = ""
    """The file that holds the whole text, if this is only part of it."""
    ends_turn: bool = False
    """Whether the turn ends here, because the user decides how to continue."""


class LiveCall(Protocol):
    """One tool call, from its first streamed argument to its result."""

    async def write(self, fragment: str) -> None:
        """Receive a piece of the arguments and show a preview; must have no side effects."""
        ...

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the call may do; it decides which calls of a reply run together.

        Called in a thread: it may look up files.
        """
        ...

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Execute the call, perhaps together with others. Failures are outcomes, never exceptions.

        `call.arguments` is a JSON object.
        """
        ...

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome of a call that was started but did not finish."""
        ...


class Toolbox(Protocol):
    """The tools of a session."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools sent to the model; identical in order and bytes between rebuilds."""
        ...

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Show that the model starts a call of any tool, known or not, and return the call."""
        ...

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Resolve a link from the user; returns the file's content if it is a readable file."""
        ...

    async def close(self) -> None:
        """Stop everything that still runs; called when the session closes."""
        ...
