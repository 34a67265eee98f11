"""Harness for turns: a scripted model, function tools, a meter, and checks of the history."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import anyio

from acp_server.turn.call_access import READS, CallAccess
from acp_server.turn.context import TurnContext
from acp_server.turn.context_counter import ModelMeter
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
    prompt_to_text,
)
from acp_server.turn.events import CallAppeared, CallChanged, CallStatus, Usage
from acp_server.turn.loop import Turn
from acp_server.turn.ports import (
    Model,
    ModelEvent,
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    StopReason,
    Toolbox,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    ToolOutcome,
    ToolSpec,
    TurnSink,
)
from acp_server.turn.usage_totals import UsageTotals
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.turn.fake_sinks import MemorySink, SequentialIds

HI = UserMessage((Text("hi"),))
ToolFunction = Callable[[ToolCall], Awaitable[str]]


@dataclass(frozen=True)
class ModelRound:
    """One model answer: it streams these events, then stops, raises, or blocks (None)."""

    events: Sequence[ModelEvent] = ()
    end: ModelStop | Exception | None = "end_turn"


class RoundModel:
    """Model that plays one round per request, and repeats the last one."""

    def __init__(self, *rounds: ModelRound) -> None:
        self._rounds = rounds
        self.requests: list[ModelRequest] = []
        self.delivered_count = 0
        self.is_blocked = anyio.Event()

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Play the next round."""
        playing = self._rounds[min(len(self.requests), len(self._rounds) - 1)]
        self.requests.append(request)
        for event in playing.events:
            await receive(event)
            self.delivered_count += 1
        if isinstance(playing.end, Exception):
            raise playing.end
        if playing.end is None:
            self.is_blocked.set()
            await anyio.sleep_forever()
        return playing.end or "end_turn"


def tool_call_events(*calls: ToolCall) -> list[ModelEvent]:
    """Return the events of a model that makes these calls, their arguments in two chunks."""
    events: list[ModelEvent] = []
    for call in calls:
        events += [
            ToolCallStarted(call.id, call.name),
            ToolCallDelta(call.id, call.arguments[:1]),
            ToolCallDelta(call.id, call.arguments[1:]),
            ToolCallCompleted(call.id),
        ]
    return events


class FunctionTools:
    """Toolbox whose tools are functions that return the result or raise."""

    def __init__(self, **tools: ToolFunction) -> None:
        self._tools = tools
        self.accesses: dict[str, CallAccess] = {}
        """What the calls may do, by tool name; the others only read."""
        self.started_call_ids: list[str] = []
        self.specs = tuple(ToolSpec(name, f"to {name}", {"type": "object"}) for name in tools)

    async def open(self, call_id: str, name: str, sink: TurnSink) -> "FunctionLiveCall":
        """Show a call as started."""
        await sink.emit(CallAppeared(call_id, name))
        return FunctionLiveCall(self.run, sink, self.accesses.get(name, READS))

    async def run(self, call: ToolCall, sink: TurnSink) -> ToolOutcome:
        """Run the function of a call."""
        self.started_call_ids.append(call.id)
        await sink.emit(CallChanged(call.id, "in_progress"))
        return ToolOutcome(await self._tools[call.name](call))

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing."""


class FunctionLiveCall:
    """Live call that ignores streamed arguments and runs a function."""

    def __init__(
        self,
        run: Callable[[ToolCall, TurnSink], Awaitable[ToolOutcome]],
        sink: TurnSink,
        access: CallAccess = READS,
    ) -> None:
        self._run = run
        self._sink = sink
        self._access = access

    async def write(self, fragment: str) -> None:
        """Ignore the fragment."""

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the tool's calls may do."""
        del call
        return self._access

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the call."""
        return await self._run(call, self._sink)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the reason as an error."""
        return ToolOutcome(reason, is_error=True)


def final_call_change(call_id: str, status: CallStatus, text: str) -> CallChanged:
    """Return the event for a call that ended with this text."""
    return CallChanged(call_id, status, content=(Text(text),))


async def echo_arguments(call: ToolCall) -> str:
    """Return the arguments; a tool function."""
    return call.arguments


async def hang(call: ToolCall) -> str:
    """Block until cancelled; a tool function."""
    del call
    await anyio.sleep_forever()
    return "never"


@dataclass(frozen=True)
class CharacterMeter:
    """Meter that counts each character as a token, and charges a dollar per output token."""

    window_tokens: int = 1_000_000
    has_prices: bool = True
    answer_tokens: int = 0

    def estimate(self, request: ModelRequest) -> int:
        """Return the total length of all user messages."""
        return sum(map(self.estimate_message, request.messages))

    def estimate_message(self, message: Message) -> int:
        """Return the length of a user message; 0 for any other."""
        return len(prompt_to_text(message.parts)) if isinstance(message, UserMessage) else 0

    def cost_usd(self, usage: Usage) -> float | None:
        """Return one dollar per output token, or None without prices."""
        return float(usage.output_tokens) if self.has_prices else None


class TurnHarness:
    """Runs turns of one conversation and gives access to the results."""

    def __init__(
        self,
        model: Model,
        toolbox: Toolbox | None = None,
        *,
        meter: ModelMeter | None = None,
        max_requests: int = 10,
    ) -> None:
        self.conversation = Conversation()
        self.sink = MemorySink()
        self.usage = UsageTotals()
        self.context = TurnContext(
            model=model,
            meter=meter or CharacterMeter(),
            toolbox=toolbox or FunctionTools(),
            new_id=SequentialIds(),
            max_requests=max_requests,
            resume_wait_seconds=0,
        )

    def make_turn(self) -> Turn:
        """Return a turn that has not started."""
        return Turn(self.conversation, self.context, self.sink, self.usage)

    async def run(self, prompt: UserMessage = HI) -> StopReason:
        """Run a turn to its end."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            return await self.make_turn().run(prompt)

    async def run_and_cancel_at(self, event: anyio.Event, prompt: UserMessage = HI) -> None:
        """Run a turn and cancel it when the event is set."""
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self.make_turn().run, prompt)
                await event.wait()
                tasks.cancel_scope.cancel()

    @property
    def history(self) -> list[Message]:
        """The conversation; fails unless a provider would accept it."""
        history = list(self.conversation)
        assert history_errors(history) == []
        return history


def user_words(history: Sequence[Message]) -> list[str]:
    """Return the texts of a history that count as written by the user."""
    parts = [part for each in history if isinstance(each, UserMessage) for part in each.parts]
    return [part.text for part in parts if isinstance(part, Text) and not part.is_remark]


def history_errors(history: Sequence[Message]) -> list[str]:
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
