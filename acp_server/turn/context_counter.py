"""Counts the tokens of requests: what the endpoint counted, plus an estimate of what was added.

Estimates alone are wrong by up to a half, so each report of an endpoint also corrects the estimates
for its model.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil
from typing import Protocol

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import AssistantMessage, Message
from acp_server.turn.events import Usage
from acp_server.turn.ports import Model, ModelRequest

MIN_SCALE, MAX_SCALE = 0.2, 4.0
"""Limits of the correction, against endpoints that report nonsense."""
REBUILT_MARGIN = 1.05
OTHER_MODEL_MARGIN, MAX_OTHER_MODEL_SCALE = 1.2, 2.0
MIN_WINDOW_TOKENS = 4_096
"""No model has a smaller context window."""
UNNAMED_OVERFLOW_SHARE = 0.8
"""Of a request that an endpoint found too large without saying its limit, the share that is taken
for the limit."""


class ModelMeter(Protocol):
    """Context window and price of the current model."""

    @property
    def window_tokens(self) -> int:
        """Size of the context window: prompt and answer together."""
        ...

    @property
    def answer_tokens(self) -> int:
        """How many tokens of the context window must stay free for the answer.

        A request whose prompt leaves them free fits: no longer answer is asked for.
        """
        ...

    def estimate(self, request: ModelRequest) -> int:
        """Estimate the tokens of a request; errs towards too many.

        The sum of its messages' estimates, and of an estimate without messages.
        """
        ...

    def estimate_message(self, message: Message) -> int:
        """Estimate the tokens of one message of a request; errs towards too many."""
        ...

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the cost of a call; None if the price is unknown."""
        ...


class TokenScales:
    """Reported tokens per estimated token, for the models of a session."""

    def __init__(self, by_name: dict[str, float] | None = None) -> None:
        """Start with the scales `by_name` of other sessions, and share what is learned."""
        self._scales: dict[str, float] = {} if by_name is None else by_name
        self._names: dict[int, str] = {}

    def add_model(self, model: Model, name: str) -> None:
        """Let a model share the scale of all models with this name."""
        self._names[id(model)] = name

    def get(self, model: Model) -> float | None:
        """Return the scale of a model; None before its first report."""
        return self._scales.get(self._name(model))

    def set(self, model: Model, scale: float) -> None:
        """Store the scale of a model."""
        self._scales[self._name(model)] = scale

    @property
    def highest(self) -> float:
        """The highest scale of all models; 1 before any report."""
        return max(self._scales.values(), default=1.0)

    def _name(self, model: Model) -> str:
        return self._names.get(id(model), f"#{id(model)}")


@frozen_dataclass
class MeteredRequest:
    """A request, the model that it is for, and which state of the conversation it sends."""

    model: Model
    meter: ModelMeter
    request: ModelRequest
    generation: int
    """`Conversation.generation`: a report about another one does not count these messages."""


@frozen_dataclass
class _Report:
    """What an endpoint counted: the first `messages` messages with system prompt and tools."""

    model: Model | None
    """None: stored by an earlier process, so for the model that the session continues with."""
    generation: int
    messages: int
    tokens: int


@frozen_dataclass
class _Estimate:
    """The meter's estimate of the first messages of a state of the conversation."""

    model: Model
    generation: int
    messages: int
    tokens: int


class ContextCounter:
    """Counts the requests of one conversation."""

    def __init__(self, scales: TokenScales | None = None) -> None:
        """Start without a report; `scales` is shared by conversations with the same models."""
        self._scales = TokenScales() if scales is None else scales
        self._limits: dict[int, int] = {}
        """Windows that turned out to be smaller than the model's family says."""
        self._report: _Report | None = None
        self._restored: tuple[Sequence[Message], int] | None = None
        """A loaded conversation and its stored count, until the first request."""
        self._estimate: _Estimate | None = None

    def restore(self, messages: Sequence[Message], tokens: int) -> None:
        """Continue from the stored count of a loaded conversation; 0 if there is none."""
        # The messages are read with the first request: it decodes them anyway.
        self._restored = (messages, tokens) if tokens > 0 else None

    def adopt_restored(self, metered: MeteredRequest) -> _Report | None:
        """Take the count of `restore` as one for this model; return the report in use."""
        if self._restored is not None:
            messages, tokens = self._restored
            self._restored = None
            # The last report included the last answer.
            answers = [
                n for n, each in enumerate(messages, 1) if isinstance(each, AssistantMessage)
            ]
            self._report = _Report(None, 0, answers[-1], tokens) if answers else None
        report = self._report
        if report is not None and report.model is None:
            covered = replace(metered.request, messages=metered.request.messages[: report.messages])
            self._calibrate(metered, metered.meter.estimate(covered), report.tokens)
            self._report = report = replace(report, model=metered.model)
        return report

    def window_tokens(self, model: Model, meter: ModelMeter) -> int:
        """Return the size of the context window, as far as it is known."""
        return min(meter.window_tokens, self._limits.get(id(model), meter.window_tokens))

    def max_request_tokens(self, model: Model, meter: ModelMeter) -> int:
        """Return how large a request may be, so that there is room for its answer."""
        window = self.window_tokens(model, meter)
        return window - min(meter.answer_tokens, window // 4)

    def count(self, metered: MeteredRequest) -> int:
        """Return the tokens of a request: what was reported, plus an estimate of the rest."""
        report, request = self.adopt_restored(metered), metered.request
        if (
            report is None
            or report.model is not metered.model
            or report.generation != metered.generation
        ):
            return self.estimate(metered)
        added = metered.meter.estimate(ModelRequest(request.messages[report.messages :]))
        return report.tokens + ceil(added * self.scale_of_new(metered.model))

    def estimate_messages(self, metered: MeteredRequest) -> int:
        """Return the meter's own estimate of the messages of a state of the conversation.

        Reads only the messages that were added since: a large window takes tens of milliseconds.
        """
        messages, known = metered.request.messages, self._estimate
        if (
            known is None
            or known.model is not metered.model
            or known.generation != metered.generation
            or known.messages > len(messages)
        ):
            known = _Estimate(metered.model, metered.generation, 0, 0)
        added = metered.meter.estimate(ModelRequest(messages[known.messages :]))
        self._estimate = replace(known, messages=len(messages), tokens=known.tokens + added)
        return self._estimate.tokens

    def estimate(self, metered: MeteredRequest) -> int:
        """Return a calibrated estimate of a request that no report covers."""
        is_calibrated = self._scales.get(metered.model) is not None
        margin = REBUILT_MARGIN if is_calibrated else 1.0
        return ceil(metered.meter.estimate(metered.request) * self.scale(metered.model) * margin)

    def scale(self, model: Model) -> float:
        """Return the tokens per estimated token of a model's requests."""
        scale = self._scales.get(model)
        if scale is not None:
            return scale
        # Another model's correction is better than none: all tokenizers are alike within a sixth
        # or so, while the plain estimate is far too high.
        report = self._report
        counted = None if report is None or report.model is None else report.model
        known = None if counted is None else self._scales.get(counted)
        if known is not None:  # the other model counted this very conversation
            return min(known * OTHER_MODEL_MARGIN, MAX_OTHER_MODEL_SCALE)
        return min(self._scales.highest * OTHER_MODEL_MARGIN, 1.0)

    def scale_of_new(self, model: Model) -> float:
        """Return the tokens per estimated token of messages that no report covers."""
        scale = self.scale(model)
        # Halfway between calibrated and cautious: what was added may be denser than the rest.
        return max(scale, (scale + 1) / 2)

    def record_usage(self, metered: MeteredRequest, usage: Usage) -> None:
        """Take the endpoint's count of a request and its answer."""
        if usage.prompt_tokens <= 0:
            return
        without_messages = metered.meter.estimate(replace(metered.request, messages=()))
        estimate = without_messages + self.estimate_messages(metered)
        self._calibrate(metered, estimate, usage.prompt_tokens)
        self._restored = None
        # The answer is appended behind the messages of the request.
        messages = len(metered.request.messages) + 1
        tokens = usage.prompt_tokens + usage.output_tokens
        self._report = _Report(metered.model, metered.generation, messages, tokens)

    def record_overflow(
        self, metered: MeteredRequest, request_tokens: int | None, limit_tokens: int | None
    ) -> bool:
        """Take what an endpoint said about a request that is too large; None: it did not say.

        Return whether a shorter request may help. A small one was refused for another reason.
        """
        size = request_tokens or self.count(metered)
        if limit_tokens is None and size < MIN_WINDOW_TOKENS:
            return False
        window = self.window_tokens(metered.model, metered.meter)
        limit = min(limit_tokens or int(size * UNNAMED_OVERFLOW_SHARE), window)
        self._limits[id(metered.model)] = limit
        # Our own count may have been too low, but at least the request did not fit.
        size = max(size, self.max_request_tokens(metered.model, metered.meter) + 1)
        self._calibrate(metered, metered.meter.estimate(metered.request), size)
        messages = len(metered.request.messages)
        self._restored = None
        self._report = _Report(metered.model, metered.generation, messages, size)
        return True

    def _calibrate(self, metered: MeteredRequest, estimate: int, tokens: int) -> None:
        if estimate > 0:
            scale = min(max(tokens / estimate, MIN_SCALE), MAX_SCALE)
            self._scales.set(metered.model, scale)
