"""Harness for turns: a scripted model, function tools, a meter, and checks of the history."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import anyio

from acp_server.turn.conversation import (
    Conversation,
    Link,
    Message,
    PromptPart,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    text_of,
)
from acp_server.turn.events import CallAppeared, CallChanged, CallStatus, Usage
from acp_server.turn.loop import Kit, Meter, Spent, Turn
from acp_server.turn.ports import (
    CallArguments,
    CallEnded,
    CallStarted,
    Model,
    ModelEvent,
    ModelRequest,
    ModelStop,
    Outcome,
    Receive,
    Sink,
    StopReason,
    Toolbox,
    ToolSpec,
)
from tests.support.timeouts import PATIENCE_SECONDS
from tests.turn.fake_sinks import Ids, RecordingSink

HI = UserMessage((Text("hi"),))
Doing = Callable[[ToolCall], Awaitable[str]]


@dataclass(frozen=True)
class Round:
    """One model answer: it streams these events, then stops, raises, or blocks (None)."""

    events: Sequence[ModelEvent] = ()
    end: ModelStop | Exception | None = "end_turn"


class Playing:
    """Model that plays one round per request, and repeats the last one."""

    def __init__(self, *rounds: Round) -> None:
        self._rounds = rounds
        self.requests: list[ModelRequest] = []
        self.passed_on = 0
        self.hangs = anyio.Event()

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Play the next round."""
        playing = self._rounds[min(len(self.requests), len(self._rounds) - 1)]
        self.requests.append(request)
        for event in playing.events:
            await receive(event)
            self.passed_on += 1
        if isinstance(playing.end, Exception):
            raise playing.end
        if playing.end is None:
            self.hangs.set()
            await anyio.sleep_forever()
        return playing.end or "end_turn"


def calling(*calls: ToolCall) -> list[ModelEvent]:
    """Return the events of a model that makes these calls, their arguments in two chunks."""
    events: list[ModelEvent] = []
    for call in calls:
        events += [
            CallStarted(call.id, call.name),
            CallArguments(call.id, call.arguments[:1]),
            CallArguments(call.id, call.arguments[1:]),
            CallEnded(call.id),
        ]
    return events


class Tools:
    """Toolbox whose tools are functions that return the result or raise."""

    def __init__(self, **tools: Doing) -> None:
        self._tools = tools
        self.begun: list[str] = []
        self.specs = tuple(ToolSpec(name, f"to {name}", {"type": "object"}) for name in tools)

    async def open(self, call_id: str, name: str, sink: Sink) -> "PlayedCall":
        """Show a call as started."""
        await sink.emit(CallAppeared(call_id, name))
        return PlayedCall(self.run, sink)

    async def run(self, call: ToolCall, sink: Sink) -> Outcome:
        """Run the function of a call."""
        self.begun.append(call.id)
        await sink.emit(CallChanged(call.id, "in_progress"))
        return Outcome(await self._tools[call.name](call))

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing."""


class PlayedCall:
    """Live call that ignores streamed arguments and runs a function."""

    def __init__(self, run: Callable[[ToolCall, Sink], Awaitable[Outcome]], sink: Sink) -> None:
        self._run = run
        self._sink = sink

    async def write(self, fragment: str) -> None:
        """Ignore the fragment."""

    async def run(self, call: ToolCall) -> Outcome:
        """Run the call."""
        return await self._run(call, self._sink)

    def cut_short(self, reason: str) -> Outcome:
        """Return the reason as an error."""
        return Outcome(reason, is_error=True)


def told(call_id: str, status: CallStatus, text: str) -> CallChanged:
    """Return the event for a call that ended with this text."""
    return CallChanged(call_id, status, content=(Text(text),))


async def echo(call: ToolCall) -> str:
    """Return the arguments; a tool function."""
    return call.arguments


async def hang(call: ToolCall) -> str:
    """Block until cancelled; a tool function."""
    del call
    await anyio.sleep_forever()
    return "never"


@dataclass(frozen=True)
class Gauge:
    """Meter that counts each character as a token, and charges a dollar per output token."""

    window_tokens: int = 1_000_000
    has_prices: bool = True

    def estimate(self, request: ModelRequest) -> int:
        """Return the total length of all user messages."""
        prompts = (each for each in request.messages if isinstance(each, UserMessage))
        return sum(len(text_of(prompt.parts)) for prompt in prompts)

    def cost_usd(self, usage: Usage) -> float | None:
        """Return one dollar per output token, or None without prices."""
        return float(usage.output_tokens) if self.has_prices else None


class Stage:
    """Runs turns of one conversation and gives access to the results."""

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox | None = None,
        *,
        meter: Meter | None = None,
        max_requests: int = 10,
    ) -> None:
        self.conversation = Conversation()
        self.sink = RecordingSink()
        self.spent = Spent()
        self.kit = Kit(
            model=model,
            meter=meter or Gauge(),
            toolbox=toolbox or Tools(),
            new_id=Ids(),
            max_requests=max_requests,
            go_on_seconds=0,
        )

    def turn(self) -> Turn:
        """Return a turn that has not started."""
        return Turn(self.conversation, self.kit, self.sink, self.spent)

    async def run(self, prompt: UserMessage = HI) -> StopReason:
        """Run a turn to its end."""
        with anyio.fail_after(PATIENCE_SECONDS):
            return await self.turn().run(prompt)

    async def run_until(self, event: anyio.Event, prompt: UserMessage = HI) -> None:
        """Run a turn and cancel it when the event is set."""
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.turn().run, prompt)
                await event.wait()
                tasks.cancel_scope.cancel()

    @property
    def history(self) -> list[Message]:
        """The conversation; fails unless a provider would accept it."""
        history = list(self.conversation)
        assert history_faults(history) == []
        return history


def history_faults(history: Sequence[Message]) -> list[str]:
    """Return the reasons for which a provider would refuse a history."""
    faults: list[str] = []
    owed: list[str] = []
    for number, message in enumerate(history):
        if not message.parts:
            faults.append(f"{number} is empty")
        results = [part.call_id for part in message.parts if isinstance(part, ToolResult)]
        if results != owed:
            faults.append(f"{number} has the results of {results}, owed are {owed}")
        owed = [part.id for part in message.parts if isinstance(part, ToolCall)]
        if any(isinstance(part, Text) and not part.text.strip() for part in message.parts):
            faults.append(f"{number} has an empty text")
        if any(isinstance(part, Thinking | RedactedThinking) for part in message.parts[-1:]):
            faults.append(f"{number} ends in thinking")
    if owed:
        faults.append(f"the calls {owed} have no results")
    return faults
