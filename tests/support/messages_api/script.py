"""What the model says: a list of turns, written by the test.

    script = [
        "Hello!",
        reply(think("Which file?"), say("Let me look."), call("read_file", path="a.py")),
        reply(say("Done."), faults=[CutAfterEvents(3)]),
        overloaded(),
        lambda ask: reply(say(f"You said: {ask.said_last}")),
    ]

A turn is a text, a `Reply`, a `Failure`, a `Vanish`, or a function of the request that returns one
of them. Requests play the turns in order; a single function instead of a list plays them all. What
the script does not say is refused with 400, so that no client tries again.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypedDict, Unpack

from pydantic import JsonValue

from tests.support.messages_api.asking import Ask
from tests.support.messages_api.failures import Failure, Vanish
from tests.support.messages_api.faults import StreamFault
from tests.support.messages_api.steps import Gate

StopReason = Literal[
    "end_turn",
    "max_tokens",
    "stop_sequence",
    "tool_use",
    "pause_turn",
    "refusal",
    "model_context_window_exceeded",
]
CHUNK_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class Say:
    """A block of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Think:
    """A thinking block; it is left out where the request has thinking off."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkSecretly:
    """A redacted thinking block."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool."""

    name: str
    input: Mapping[str, JsonValue]
    id: str | None = None
    """Given by the server, unless the script needs to know it."""
    written: str | None = None
    """What is streamed instead of the input, cut or broken as it may be, where the tool was
    declared with `eager_input_streaming`. Without that field the API checks what it sends."""


@dataclass(frozen=True, slots=True)
class SearchCall:
    """The provider searches the web."""

    id: str
    query: str


@dataclass(frozen=True, slots=True)
class SearchResult:
    """What a search has found: titles and addresses; or why it has failed."""

    id: str
    found: tuple[tuple[str, str], ...] = ()
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Cite:
    """A block of text that rests on a page."""

    text: str
    title: str
    url: str


Spoken = Say | Think | ThinkSecretly | Call | SearchCall | SearchResult | Cite


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer with 200."""

    blocks: tuple[Spoken, ...] = ()
    stop_reason: StopReason = "end_turn"
    stop_sequence: str | None = None
    refused_category: str | None = None
    """The category in `stop_details`, when `stop_reason` is `refusal`."""
    chunk_characters: int = CHUNK_CHARACTERS
    """How much text a delta has."""
    pause_seconds: float = 0
    """The time that every delta takes."""
    head_delay_seconds: float = 0
    head_gate: Gate | None = None
    """The head waits until the test opens the gate."""
    content_type: str | None = None
    """What the header says instead of the truth."""
    faults: tuple[StreamFault, ...] = field(default_factory=tuple[StreamFault, ...])


Turn = str | Reply | Failure | Vanish
Responder = Callable[[Ask], Turn]
Script = Sequence[Turn | Responder] | Responder


def say(text: str) -> Say:
    """Return a block of text."""
    return Say(text)


def think(text: str) -> Think:
    """Return a thinking block."""
    return Think(text)


def call(name: str, /, **input_: JsonValue) -> Call:
    """Return a call of a tool; `Call` itself takes an id and broken input as well."""
    return Call(name, input_)


class Settings(TypedDict, total=False):
    """What else a `Reply` may have; its fields say what they mean."""

    stop_sequence: str
    refused_category: str
    chunk_characters: int
    pause_seconds: float
    head_delay_seconds: float
    head_gate: Gate
    content_type: str


def reply(
    *blocks: Spoken | str,
    stop: StopReason | None = None,
    faults: Sequence[StreamFault] = (),
    **settings: Unpack[Settings],
) -> Reply:
    """Return an answer of these blocks, which stops where tools are called to have them called."""
    spoken = tuple(Say(each) if isinstance(each, str) else each for each in blocks)
    calls = any(isinstance(each, Call) for each in spoken)
    made = Reply(spoken, stop or ("tool_use" if calls else "end_turn"), faults=tuple(faults))
    return replace(made, **settings)


class Player:
    """Plays a script, turn by turn."""

    def __init__(self, script: Script) -> None:
        self._one = script if callable(script) else None
        self._turns = [] if callable(script) else list(script)

    @property
    def unplayed(self) -> int:
        """How many turns were not asked for yet."""
        return len(self._turns)

    def add(self, *turns: Turn | Responder) -> None:
        """Put turns behind those that wait."""
        self._turns += turns

    def play(self, ask: Ask) -> Reply | Failure | Vanish | None:
        """Return the next turn, or None when there is none."""
        if self._turns:
            turn = self._turns.pop(0)
        elif self._one is not None:
            turn = self._one
        else:
            return None
        said = turn(ask) if callable(turn) else turn
        return reply(said) if isinstance(said, str) else said
