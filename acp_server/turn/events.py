"""What the user sees of a turn, in the engine's words. Closed: whoever renders handles each."""

from dataclasses import dataclass
from typing import Literal

CallStatus = Literal["pending", "in_progress", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls, as the provider counts them.

    `input_tokens` are those neither read from nor written to a cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """All that the model read."""
        written = self.cache_write_5m_tokens + self.cache_write_1h_tokens
        return self.input_tokens + self.cache_read_tokens + written

    def __add__(self, other: "Usage") -> "Usage":
        return self._combined(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._combined(other, -1)

    def _combined(self, other: "Usage", sign: int) -> "Usage":
        return Usage(
            self.input_tokens + sign * other.input_tokens,
            self.output_tokens + sign * other.output_tokens,
            self.cache_read_tokens + sign * other.cache_read_tokens,
            self.cache_write_5m_tokens + sign * other.cache_write_5m_tokens,
            self.cache_write_1h_tokens + sign * other.cache_write_1h_tokens,
        )


@dataclass(frozen=True, slots=True)
class MessageChunk:
    """More of the answer; chunks of one message share `message_id`."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ThoughtChunk:
    """More of the reasoning; chunks of one thought share `message_id`."""

    message_id: str
    text: str


@dataclass(frozen=True, slots=True)
class CallAppeared:
    """The model began a tool call; nothing of it has run."""

    call_id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallChanged:
    """A tool call went on; `text` is what it led to, if that is known."""

    call_id: str
    status: CallStatus
    text: str | None = None


@dataclass(frozen=True, slots=True)
class NoticeRaised:
    """Something to tell the user that is no part of the conversation."""

    severity: Literal["info", "warning", "error"]
    title: str
    message_id: str
    """For clients without notices, which get it as a thought."""


@dataclass(frozen=True, slots=True)
class ContextMeasured:
    """How full the model's window is after a call, and what the session has cost."""

    used_tokens: int
    window_tokens: int
    cost_usd: float | None


Event = MessageChunk | ThoughtChunk | CallAppeared | CallChanged | NoticeRaised | ContextMeasured
