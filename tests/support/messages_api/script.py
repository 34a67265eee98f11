"""Scripts of the model's replies, one turn per request.

    script = [
        "Hello!",
        reply(think("Which file?"), say("Let me look."), call("read_file", path="a.py")),
        reply(say("Done."), faults=[CutAfterEvents(3)]),
        overloaded(),
        lambda ask: reply(say(f"You said: {ask.said_last}")),
    ]

A turn is a text, a `ScriptedReply`, an `HttpFailure`, a `DroppedConnection`, or a function of the
request that returns one of them. Requests play the turns in order; a single function instead of a
list plays them all. Requests beyond the script get status 400, so that clients do not retry.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict, Unpack

from pydantic import JsonValue

from tests.support.messages_api.failures import DroppedConnection, HttpFailure
from tests.support.messages_api.faults import StreamFault
from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.response_steps import ResponseGate

StopReason = Literal[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
    "content_filter",  # OpenAI's formats only
]
CHUNK_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Say:
    """Text block."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """Thinking block, omitted if the request turns thinking off."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkRedacted:
    """Redacted thinking block."""


@dataclass(frozen=True, slots=True)
class CallTool:
    """Tool use block."""

    name: str
    input: Mapping[str, JsonValue]
    id: str | None = None
    """Assigned by the server if None."""
    raw_arguments: str | None = None
    """Raw JSON to stream instead of the input, possibly truncated or invalid. Used only for tools
    with `eager_input_streaming`; without it the API sends valid JSON only."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """Web search call, which the provider runs."""

    id: str
    query: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Web search result: titles and URLs, or an error code."""

    id: str
    found: tuple[tuple[str, str], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Cite:
    """Text block with a citation."""

    text: str
    title: str
    url: str


ReplyBlock = Say | Think | ThinkRedacted | CallTool | SearchCall | SearchResult | Cite


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """Reply with status 200."""

    blocks: tuple[ReplyBlock, ...] = ()
    stop_reason: StopReason = "end_turn"
    stop_sequence: str | None = None
    refused_category: str | None = None
    """Category in `stop_details` if `stop_reason` is `refusal`."""
    chunk_characters: int = CHUNK_CHARACTERS
    """Length of the text in each delta."""
    pause_seconds: float = 0
    """Pause before each delta."""
    head_delay_seconds: float = 0
    head_gate: ResponseGate | None = None
    """Gate that the response head waits for."""
    content_type: str | None = None
    """Value of the content-type header instead of the correct one."""
    faults: tuple[StreamFault, ...] = field(default_factory=tuple[StreamFault, ...])


ScriptedTurn = str | ScriptedReply | HttpFailure | DroppedConnection
Responder = Callable[[ParsedRequest], ScriptedTurn]
Script = Sequence[ScriptedTurn | Responder] | Responder


def say(text: str) -> Say:
    """Return a block of text."""
    return Say(text)


def think(text: str) -> Think:
    """Return a thinking block."""
    return Think(text)


def call(name: str, /, **input_: JsonValue) -> CallTool:
    """Return a tool use; construct `CallTool` directly to set an id or invalid arguments."""
    return CallTool(name, input_)


class ReplyOptions(TypedDict, total=False):
    """Optional fields of a `ScriptedReply`; see there."""

    stop_sequence: str
    refused_category: str
    chunk_characters: int
    pause_seconds: float
    head_delay_seconds: float
    head_gate: ResponseGate
    content_type: str


def reply(
    *blocks: ReplyBlock | str,
    stop: StopReason | None = None,
    faults: Sequence[StreamFault] = (),
    **settings: Unpack[ReplyOptions],
) -> ScriptedReply:
    """Return a reply of these blocks; by default it stops with `tool_use` if it has calls."""
    spoken = tuple(Say(each) if isinstance(each, str) else each for each in blocks)
    calls = any(isinstance(each, CallTool) for each in spoken)
    scripted = ScriptedReply(
        spoken, stop or ("tool_use" if calls else "end_turn"), faults=tuple(faults)
    )
    return replace(scripted, **settings)


class ScriptPlayer:
    """Plays a script turn by turn; a single function answers every request."""

    def __init__(self, script: Script) -> None:
        self._responder = script if callable(script) else None
        self._turns = [] if callable(script) else list(script)

    @property
    def remaining_turns(self) -> int:
        """Number of turns that no request has played yet."""
        return len(self._turns)

    def add(self, *turns: ScriptedTurn | Responder) -> None:
        """Append turns to the script."""
        self._turns += turns

    def play(
        self, request: ParsedRequest
    ) -> ScriptedReply | HttpFailure | DroppedConnection | None:
        """Return the next turn, or None at the end of the script."""
        if self._turns:
            turn = self._turns.pop(0)
        elif self._responder is not None:
            turn = self._responder
        else:
            return None
        outcome = turn(request) if callable(turn) else turn
        return reply(outcome) if isinstance(outcome, str) else outcome
