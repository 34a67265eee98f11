"""The turn: a user's message in, steps until the model is done, a stop reason out.

History is append-only and always such that a provider takes it back: every call is followed by
its result, no message is empty, none ends in thinking. Each message is appended before it has an
effect, and whatever was said is kept, however the turn ends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, Protocol

import anyio

from acp_server.frozen import frozen
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    PromptPart,
    ReplyPart,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
    shortened,
)
from acp_server.turn.errors import ModelInterruptedError, PromptTooLargeError, TurnError
from acp_server.turn.events import ContextMeasured, NoticeRaised, Usage
from acp_server.turn.ports import (
    Model,
    ModelRequest,
    ModelStop,
    Sink,
    StopReason,
    Toolbox,
)
from acp_server.turn.step import Batch, NewId, Step

MOST_INTERRUPTIONS = 5
ATTACHMENT_SHARE = 0.25
"""How much of the window one attachment may take."""
CHARACTERS_PER_TOKEN = 2.5
GO_ON = (
    "Your answer was cut off there by a broken connection. Go on exactly where it stops; repeat "
    "nothing and do not mention this."
)
NOT_RUN = "not run: the answer ended before this call was complete"
CANCELLED = "cancelled by the user before it had finished"
NO_ANSWER = "(There was no answer: {reason})"
COST_DIGITS = 10
"""Of a dollar, behind the point: what is beyond is no price, but the noise of adding floats."""


class Meter(Protocol):
    """What the current model can hold and what it costs."""

    @property
    def window_tokens(self) -> int:
        """The window: prompt and answer together."""
        ...

    def estimate(self, request: ModelRequest) -> int:
        """Return about how many tokens a request is; rather too many than too few."""
        ...

    def cost_usd(self, usage: Usage) -> float | None:
        """Return what a call cost, if the price is known."""
        ...


@frozen
class Instructions:
    """Instructions for the model, and the files they come from, for the user."""

    text: str
    labels: tuple[str, ...]


class Upkeep(Protocol):
    """Keeps a conversation fit for its next request."""

    async def prepared(self, conversation: Conversation, kit: "Kit", sink: Sink) -> "Kit":
        """Return what the next call of the model works with.

        May have made the conversation shorter before.
        """
        ...

    async def instruct(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]], sink: Sink
    ) -> Mapping[str, Instructions]:
        """Return what is added to the results of calls, by their ids, for the paths they touched.

        These are the instructions that lie in the folders which the work has come to.
        """
        ...


class Asides(Protocol):
    """What the user says while a turn runs."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said since the last time."""
        ...

    async def take(self, sink: Sink) -> Sequence[PromptPart]:
        """Return what was said since the last time."""
        ...


class Record(Protocol):
    """Where a turn is written down as it goes on."""

    async def commit(self) -> None:
        """Return when what was said so far is kept, whatever becomes of this process."""
        ...

    def sync(self) -> None:
        """Note that a step is over."""
        ...


@frozen
class Kit:
    """What a turn works with."""

    model: Model
    meter: Meter
    toolbox: Toolbox
    new_id: NewId
    system: str = ""
    thought_level: str | None = None
    max_requests: int = 100
    go_on_seconds: float = 0.5
    """How long to wait after a stream broke, doubled each time."""
    upkeep: Upkeep | None = None
    record: Record | None = None
    asides: Asides | None = None
    tidings: Callable[[], Sequence[str]] | None = None
    """Returns what happened meanwhile that the model has not asked about, once."""


@dataclass(slots=True)
class Spent:
    """What a session has used so far; a turn adds to it."""

    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    cost_usd: float | None = None
    context_tokens: int = field(default=0, compare=False)
    """How full the window was after the last call."""

    def copy(self) -> "Spent":
        """Return what was used until now."""
        return replace(self)

    def since(self, before: "Spent") -> "Spent":
        """Return what was used since `before`."""
        cost = self.cost_usd
        if cost is not None:
            cost = round(cost - (before.cost_usd or 0.0), COST_DIGITS)
        requests = self.requests - before.requests
        return Spent(self.usage - before.usage, requests, cost, self.context_tokens)

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Count one more call."""
        self.usage += usage
        self.requests += 1
        if cost_usd is not None:
            self.cost_usd = round((self.cost_usd or 0.0) + cost_usd, COST_DIGITS)


class Turn:
    """One prompt, from its message to its stop reason."""

    def __init__(self, conversation: Conversation, kit: Kit, sink: Sink, spent: Spent) -> None:
        self._conversation = conversation
        self._kit = kit
        self._sink = sink
        self._spent = spent
        self._close_open: Callable[[], None] | None = None
        """Writes down what is half done: a reply that streams, calls that run."""
        self._is_settled = False
        self._interruptions = 0
        self._continued_id: str | None = None
        self._is_to_go_on = False
        """Whether the next request asks for the rest of what a broken stream had said."""
        self._meanwhile: tuple[UserPart, ...] = ()
        """What happened and was said while calls ran: it stands behind their results."""

    async def run(self, prompt: UserMessage) -> StopReason:
        """Answer one prompt.

        Raises:
            PromptTooLargeError: it does not fit the window; it was not stored.
            TurnError: the model cannot be asked, or failed.
        """
        prompt = self._fitted(prompt)
        self._append(UserMessage((*prompt.parts, *self._tidings())))
        await self._commit()
        for left in reversed(range(self._kit.max_requests)):
            await self._prepare()
            reason = await self._step()
            self._sync()
            if reason is not None and not (left and await self._hears_more(reason)):
                return reason
        return "max_turn_requests"

    async def _hears_more(self, reason: StopReason) -> bool:
        """Open another step with what the user has said behind the last one; return whether."""
        said = await self._said_meanwhile() if reason in {"end_turn", "max_tokens"} else ()
        if said:
            self._append(UserMessage((*self._tidings(), *said)))
            await self._commit()
        return bool(said)

    async def _said_meanwhile(self) -> tuple[UserPart, ...]:
        asides = self._kit.asides
        if asides is None or asides.is_empty or self._is_settled:
            return ()
        return self._with_room(await asides.take(self._sink))

    def _tidings(self) -> tuple[Text, ...]:
        take = self._kit.tidings
        return () if take is None or self._is_settled else tuple(map(Text, take()))

    def settle(self) -> None:
        """Write down what is half done; what the turn does later is forgotten.

        For a turn that is given up while it still runs: the next prompt comes behind it.
        """
        self._close()
        self._is_settled = True

    def _fitted(self, prompt: UserMessage) -> UserMessage:
        """Return the prompt with its attachments cut so that they leave room for the work.

        Raises:
            PromptTooLargeError: it does not fit even so.
        """
        window = self._kit.meter.window_tokens
        fitted = UserMessage(self._with_room(prompt.parts))
        estimate = self._kit.meter.estimate(self._request((*self._conversation, fitted)))
        if estimate > window:
            raise PromptTooLargeError(estimate, window)
        return fitted

    def _with_room(self, parts: Sequence[UserPart]) -> tuple[UserPart, ...]:
        """Return parts with attachments cut so that they leave room for the work."""
        window = self._kit.meter.window_tokens
        most_characters = int(window * ATTACHMENT_SHARE * CHARACTERS_PER_TOKEN)
        return tuple(_shortened(part, most_characters) for part in parts)

    async def _prepare(self) -> None:
        """Have the conversation kept fit, before the model is asked."""
        if self._kit.upkeep is not None:
            self._kit = await self._kit.upkeep.prepared(self._conversation, self._kit, self._sink)

    def _request(self, messages: Sequence[Message]) -> ModelRequest:
        kit = self._kit
        return ModelRequest(messages, kit.system, tuple(kit.toolbox.specs), kit.thought_level)

    async def _step(self) -> StopReason | None:
        """Ask the model once and do what it wants; None when it is to be asked again."""
        if self._is_to_go_on:
            self._is_to_go_on = False
            self._append(UserMessage((Text(GO_ON),)))
        kit = self._kit
        step = Step(kit.model, kit.toolbox, self._sink, kit.new_id, self._continued_id)
        self._close_open = partial(self._keep_remains, step, CANCELLED)
        try:
            stop = await self._ask(step)
        except TurnError as error:
            self._close_open = partial(self._keep_remains, step, error.reason)
            raise
        else:
            self._close_open = None
        finally:
            self._close()
            self._count(step)
        return await self._go_on_from(step, stop)

    async def _ask(self, step: Step) -> ModelStop | None:
        """Run the step; None when its stream broke half-way and it is worth going on."""
        try:
            return await step.run(self._request(tuple(self._conversation)))
        except ModelInterruptedError as error:
            self._interruptions += 1
            if self._interruptions > MOST_INTERRUPTIONS:
                raise
            title = f"{error.reason}; going on from there"
            await self._sink.emit(NoticeRaised("warning", title, self._kit.new_id()))
            await anyio.sleep(self._kit.go_on_seconds * 2 ** (self._interruptions - 1))
            return None

    async def _go_on_from(self, step: Step, stop: ModelStop | None) -> StopReason | None:
        calls = step.calls() if stop in {"tool_use", None} else ()
        step.close_calls(calls, NOT_RUN)
        if stop is None and not calls:
            self._ask_for_the_rest(step)
            return None
        self._continued_id = None
        if stop is None or calls:
            batch = Batch(step.live_calls(), self._sink)
            is_over = await self._use_tools(batch, step.reply(with_calls=True), calls)
            return "end_turn" if is_over else None
        is_paused = stop == "pause"
        self._append_reply(step.reply(with_calls=False, is_paused=is_paused), "it said nothing")
        return None if stop == "pause" else _stop_reason(stop)

    def _ask_for_the_rest(self, step: Step) -> None:
        """Keep what a broken stream had said and ask for the rest, under the same message id.

        If it had said nothing that can be kept, the same request is simply made again.
        """
        said = step.reply(with_calls=False)
        if said:
            self._append(AssistantMessage(said))
            self._continued_id = step.message_id
            self._is_to_go_on = True

    def _keep_remains(self, step: Step, why: str) -> None:
        """Keep what was said before the turn was cancelled or failed."""
        step.close_calls((), why)
        self._append_reply(step.reply(with_calls=False), why)

    async def _use_tools(
        self, batch: Batch, said: tuple[ReplyPart, ...], calls: Sequence[ToolCall]
    ) -> bool:
        """Run a batch of calls together; each has a result in history, whatever happens.

        Return whether the turn is over with it: the user was asked, and has said nothing yet.
        """
        self._append(AssistantMessage(said))
        self._close_open = partial(self._keep_results, batch, calls)
        try:
            await self._commit()
            await batch.run(calls)
            await self._add_instructions(batch, calls)
            remarks = await self._said_meanwhile()
            self._meanwhile = (*self._tidings(), *remarks)
            return batch.ends_turn and not remarks
        finally:
            self._close()

    async def _add_instructions(self, batch: Batch, calls: Sequence[ToolCall]) -> None:
        touched = batch.touched(calls)
        if self._kit.upkeep is not None and touched:
            found = await self._kit.upkeep.instruct(self._conversation, touched, self._sink)
            for call_id, added in found.items():
                batch.add(call_id, added.text, added.labels)

    def _keep_results(self, batch: Batch, calls: Sequence[ToolCall]) -> None:
        results = (batch.result(call, CANCELLED) for call in calls)
        said, self._meanwhile = self._meanwhile, ()
        self._append(UserMessage((*results, *said)))

    def _append_reply(self, parts: tuple[ReplyPart, ...], why_empty: str) -> None:
        """Append the model's message; never an empty one, which no provider takes back."""
        parts = parts or (Text(NO_ANSWER.format(reason=why_empty)),)
        self._append(AssistantMessage(parts))

    def _append(self, message: Message) -> None:
        if not self._is_settled:
            self._conversation.append(message)

    async def _commit(self) -> None:
        """Have what was said kept, before it has an effect."""
        if self._kit.record is not None:
            await self._kit.record.commit()

    def _sync(self) -> None:
        if self._kit.record is not None and not self._is_settled:
            self._kit.record.sync()

    def _close(self) -> None:
        close, self._close_open = self._close_open, None
        if close is not None:
            close()

    def _count(self, step: Step) -> None:
        """Add what a call used, and say how full the window is."""
        if self._is_settled or step.usage == Usage():
            return
        meter, spent = self._kit.meter, self._spent
        spent.add(step.usage, meter.cost_usd(step.usage))
        used = step.usage.prompt_tokens + step.usage.output_tokens
        spent.context_tokens = used
        self._sink.emit_now(ContextMeasured(used, meter.window_tokens, spent.cost_usd))


def _shortened(part: UserPart, most_characters: int) -> UserPart:
    return part if isinstance(part, ToolResult) else shortened(part, most_characters)


def _stop_reason(stop: Literal["end_turn", "max_tokens", "refusal", "tool_use"]) -> StopReason:
    return "end_turn" if stop == "tool_use" else stop
