"""Simulates sessions against an endpoint that counts every request and refuses what is too large.

The endpoint's tokens per byte differ from the estimate, as real tokenizers do. It accepts only what
a strict provider accepts: each call followed by its result, roles that alternate, no empty text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from math import ceil
from pathlib import Path
from random import Random

from acp_server.models.families import ModelFamily
from acp_server.models.meters import FamilyMeter
from acp_server.session.prompting.compaction import Compactor
from acp_server.session.prompting.context_maintenance import SessionContextMaintenance
from acp_server.session.prompting.provider import PromptProvider
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.call_access import READS, CallAccess
from acp_server.turn.context import TurnContext
from acp_server.turn.conversation import (
    Conversation,
    Link,
    Message,
    PromptPart,
    ReplyPart,
    Text,
    ToolCall,
    UserMessage,
    UserPart,
)
from acp_server.turn.errors import ContextOverflowError
from acp_server.turn.events import CallAppeared, Usage
from acp_server.turn.loop import Turn
from acp_server.turn.ports import (
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    StopReason,
    TextDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    ToolOutcome,
    ToolSpec,
    TurnSink,
    UsageReported,
)
from acp_server.turn.usage_totals import UsageTotals
from tests.turn.fake_sinks import MemorySink, SequentialIds
from tests.turn.turn_harness import history_errors

SYSTEM = "You are an agent. " * 200
TOOLS = (ToolSpec("read", "Reads. " * 100, {"type": "object"}),)
TEXT = "def value(number: int) -> int:\n    return number * 7 + 3  # a line of ordinary code\n"


def text_of(size: int) -> str:
    """Return a text of so many bytes."""
    return (TEXT * (size // len(TEXT) + 1))[:size]


@dataclass(frozen=True)
class Step:
    """One answer of the model: text, or calls with the sizes of their arguments and results."""

    text: int = 0
    calls: Sequence[tuple[int, int]] = ()


@lru_cache(maxsize=4096)
def part_bytes(part: UserPart | ReplyPart) -> int:
    """Count the bytes of a part; most parts of a request were in the one before."""
    return len(repr(part))


def request_bytes(request: ModelRequest) -> int:
    """Count the bytes that a request carries."""
    parts = (part for message in request.messages for part in message.parts)
    return sum(map(part_bytes, parts)) + len(f"{request.system}{request.tools}")


@dataclass(eq=False)
class CountingModel:
    """Plays steps; refuses requests above its window; reports what it counted."""

    steps: Iterator[Step]
    window_tokens: int
    bytes_per_token: float = 3.6
    names_limit: bool = True
    requests: list[int] = field(default_factory=list[int])
    """The size of each request in tokens."""
    refused: int = 0
    summaries: int = 0
    results: dict[str, int] = field(default_factory=dict[str, int])
    """The sizes of the results of the calls made so far."""

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Answer with the next step, or with a summary if the request asks for one."""
        assert history_errors(request.messages) == []
        assert not any(
            type(one) is type(other)
            for one, other in zip(request.messages, request.messages[1:], strict=False)
        ), "two messages of one role in a row"
        tokens = ceil(request_bytes(request) / self.bytes_per_token)
        if tokens > self.window_tokens:
            self.refused += 1
            named = (self.window_tokens, tokens) if self.names_limit else (None, None)
            raise ContextOverflowError("the prompt is too long", *named)
        self.requests.append(tokens)
        last = request.messages[-1].parts[-1]
        if isinstance(last, Text) and last.text.startswith("This conversation is about"):
            self.summaries += 1
            await receive(TextDelta("## Task\nGo on."))
            await receive(UsageReported(Usage(tokens, 10)))
            return "end_turn"
        step = next(self.steps, Step(text=20))
        if step.text:
            await receive(TextDelta(text_of(step.text)))
        for arguments, result in step.calls:
            call_id = f"call-{len(self.results)}"
            self.results[call_id] = result
            await receive(ToolCallStarted(call_id, "read"))
            await receive(ToolCallDelta(call_id, f'{{"path": "{call_id.ljust(arguments, "p")}"}}'))
            await receive(ToolCallCompleted(call_id))
        output = step.text + sum(arguments for arguments, _ in step.calls)
        await receive(UsageReported(Usage(tokens, ceil(output / self.bytes_per_token))))
        return "tool_use" if step.calls else "end_turn"


@dataclass(frozen=True)
class _LiveRead:
    results: dict[str, int]

    async def write(self, fragment: str) -> None:
        """Ignore it."""

    def access(self, call: ToolCall) -> CallAccess:
        """Return that it only reads."""
        del call
        return READS

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Return a text of the planned size."""
        return ToolOutcome(text_of(self.results[call.id]))

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the reason."""
        return ToolOutcome(reason, is_error=True)


@dataclass(frozen=True)
class SizedTools:
    """A toolbox whose results have the sizes that the model planned."""

    results: dict[str, int]
    specs: Sequence[ToolSpec] = TOOLS

    async def open(self, call_id: str, name: str, sink: TurnSink) -> _LiveRead:
        """Show the call."""
        await sink.emit(CallAppeared(call_id, name))
        return _LiveRead(self.results)

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the link."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing."""


class NoInstructions(SessionContextMaintenance):
    """Maintenance without local instructions."""


class SimulatedSession:
    """A session with a conversation of its own, and a window that is kept."""

    def __init__(
        self,
        steps: Sequence[Step],
        window_tokens: int,
        outputs: Path,
        *,
        bytes_per_token: float = 3.6,
        known_window: int | None = None,
        names_limit: bool = True,
    ) -> None:
        self.model = CountingModel(iter(steps), window_tokens, bytes_per_token, names_limit)
        self.sink = MemorySink()
        self.totals = UsageTotals()
        self.conversation = Conversation()
        self.outputs = outputs
        family = ModelFamily("sim", known_window or window_tokens, 8_192)
        self.compactor = Compactor(self.totals, self._system, SavedOutputs(outputs, "session"))
        provider: Lazy[PromptProvider] = Lazy(self._no_provider)
        self.context = TurnContext(
            model=self.model,
            meter=FamilyMeter(family),
            toolbox=SizedTools(self.model.results),
            new_id=SequentialIds(),
            system=SYSTEM,
            max_requests=10_000,
            maintenance=NoInstructions(self.compactor, provider),
        )

    async def prompt(self, text: str) -> StopReason:
        """Run a turn."""
        turn = Turn(self.conversation, self.context, self.sink, self.totals)
        return await turn.run(UserMessage((Text(text),)))

    async def compact(self) -> None:
        """Summarize the conversation as the user's command does."""
        await self.compactor.compact(self.conversation, self.context, self.sink)

    def reload(self) -> "SimulatedSession":
        """Return the session as another process loads it; its model has nothing planned."""
        model = self.model
        loaded = SimulatedSession(
            [], model.window_tokens, self.outputs, bytes_per_token=model.bytes_per_token
        )
        loaded.conversation = Conversation(self.messages())
        loaded.context.counter.restore(self.messages(), self.totals.context_tokens)
        return loaded

    def switch_model(self, window_tokens: int, bytes_per_token: float) -> None:
        """Go on with another model, which counts differently."""
        self.model = CountingModel(iter(()), window_tokens, bytes_per_token)
        meter = FamilyMeter(ModelFamily("other", window_tokens, 8_192))
        self.context = replace(self.context, model=self.model, meter=meter)

    def messages(self) -> Sequence[Message]:
        """Return the conversation."""
        return tuple(self.conversation)

    async def _system(self) -> str:
        return SYSTEM

    @staticmethod
    def _no_provider() -> PromptProvider:
        raise AssertionError


def random_steps(random: Random, count: int, largest: int) -> list[Step]:
    """Return steps with sizes as in real sessions: most are small, a few are very large."""
    steps: list[Step] = []
    for _ in range(count):
        if random.random() < 0.1:
            steps.append(Step(text=int(random.paretovariate(0.7) * 200) % largest + 1))
            continue
        calls = [
            (random.randrange(20, 400), int(random.paretovariate(0.6) * 300) % largest + 1)
            for _ in range(random.choice((1, 1, 1, 2, 3, 8)))
        ]
        steps.append(Step(random.choice((0, 0, 80)), calls))
    return steps
