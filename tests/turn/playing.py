"""A model and tools that do as the test says, a meter, and the rules that a history must keep."""

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
from tests.support.patience import PATIENCE_SECONDS
from tests.turn.recording import Ids, RecordingSink

HI = UserMessage((Text("hi"),))
Doing = Callable[[ToolCall], Awaitable[str]]


@dataclass(frozen=True)
class Round:
    """One answer of the model: it streams these events, then stops so, raises, or hangs (None)."""

    events: Sequence[ModelEvent] = ()
    end: ModelStop | Exception | None = "end_turn"


class Playing:
    """Plays the next round each time that it is asked, the last one again and again."""

    def __init__(self, *rounds: Round) -> None:
        self._rounds = rounds
        self.requests: list[ModelRequest] = []
        self.passed_on = 0
        self.hangs = anyio.Event()

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Play."""
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
    """What a model streams that makes these calls, their arguments in two pieces."""
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
    """A toolbox; each tool is a function that returns its result or raises."""

    def __init__(self, **tools: Doing) -> None:
        self._tools = tools
        self.begun: list[str] = []
        self.specs = tuple(ToolSpec(name, f"to {name}", {"type": "object"}) for name in tools)

    async def open(self, call_id: str, name: str, sink: Sink) -> "PlayedCall":
        """Show a call."""
        await sink.emit(CallAppeared(call_id, name))
        return PlayedCall(self.run, sink)

    async def run(self, call: ToolCall, sink: Sink) -> Outcome:
        """Run one."""
        self.begun.append(call.id)
        await sink.emit(CallChanged(call.id, "in_progress"))
        return Outcome(await self._tools[call.name](call))

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Leave a link as it is."""
        del sink
        return (link,)

    async def close(self) -> None:
        """There is nothing to end."""


class PlayedCall:
    """A call of a tool that shows nothing of its arguments and does this."""

    def __init__(self, run: Callable[[ToolCall, Sink], Awaitable[Outcome]], sink: Sink) -> None:
        self._run = run
        self._sink = sink

    async def write(self, fragment: str) -> None:
        """Show nothing of it."""

    async def run(self, call: ToolCall) -> Outcome:
        """Run it."""
        return await self._run(call, self._sink)

    def cut_short(self, reason: str) -> Outcome:
        """Say why."""
        return Outcome(reason, is_error=True)


def told(call_id: str, status: CallStatus, text: str) -> CallChanged:
    """What the user is told of a call that came to an end with these words."""
    return CallChanged(call_id, status, content=(Text(text),))


async def echo(call: ToolCall) -> str:
    """A tool that says its arguments."""
    return call.arguments


async def hang(call: ToolCall) -> str:
    """A tool that never ends."""
    del call
    await anyio.sleep_forever()
    return "never"


@dataclass(frozen=True)
class Gauge:
    """A meter to which a character is a token, and which charges a dollar for each of output."""

    window_tokens: int = 1_000_000
    has_prices: bool = True

    def estimate(self, request: ModelRequest) -> int:
        """Return the length of all prompts."""
        prompts = (each for each in request.messages if isinstance(each, UserMessage))
        return sum(len(text_of(prompt.parts)) for prompt in prompts)

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the price."""
        return float(usage.output_tokens) if self.has_prices else None


class Stage:
    """A turn at work: run it, look at what came of it."""

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
        """Return a turn that has not begun."""
        return Turn(self.conversation, self.kit, self.sink, self.spent)

    async def run(self, prompt: UserMessage = HI) -> StopReason:
        """Run a turn to its end."""
        with anyio.fail_after(PATIENCE_SECONDS):
            return await self.turn().run(prompt)

    async def run_until(self, event: anyio.Event, prompt: UserMessage = HI) -> None:
        """Run a turn and cancel it when this happens."""
        with anyio.fail_after(PATIENCE_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.turn().run, prompt)
                await event.wait()
                tasks.cancel_scope.cancel()

    @property
    def history(self) -> list[Message]:
        """The conversation, which must be one that a provider takes back."""
        history = list(self.conversation)
        assert history_faults(history) == []
        return history


def history_faults(history: Sequence[Message]) -> list[str]:
    """What a provider would refuse in a history."""
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
