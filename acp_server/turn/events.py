"""What the user sees of a turn, in the engine's words. Closed: whoever renders handles each."""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.turn.conversation import Media, PromptPart, Text

CallKind = Literal[
    "read",
    "edit",
    "delete",
    "move",
    "search",
    "execute",
    "think",
    "fetch",
    "switch_mode",
    "other",
]
CallStatus = Literal["pending", "in_progress", "completed", "failed"]


@frozen
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
    def cache_write_tokens(self) -> int:
        """What was written to a cache, for however long."""
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def prompt_tokens(self) -> int:
        """All that the model read."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

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


@frozen
class PromptReceived:
    """What the user said, as the editor sent it; shown only when a conversation is shown again."""

    message_id: str
    parts: tuple[PromptPart, ...]


@frozen
class MessageChunk:
    """More of the answer; chunks of one message share `message_id`."""

    message_id: str
    text: str


@frozen
class ThoughtChunk:
    """More of the reasoning; chunks of one thought share `message_id`."""

    message_id: str
    text: str


@frozen
class Location:
    """A place that a call touches: an absolute path, and a line counted from 1."""

    path: str
    line: int | None = None


@frozen
class FileDiff:
    """A file's text before and after, or a region of it; no text before means a new file."""

    path: str
    old_text: str | None
    new_text: str


@frozen
class TerminalView:
    """The live output of a terminal."""

    terminal_id: str


CallContent = Text | Media | FileDiff | TerminalView


@frozen
class CallAppeared:
    """The model began a tool call; nothing of it has run. Without a title its name stands."""

    call_id: str
    name: str
    kind: CallKind = "other"
    title: str = ""
    parent_id: str = ""
    """The call that this one is made for, by a sub-agent; empty for the agent's own."""


@frozen
class CallChanged:
    """A tool call went on. None keeps what was shown before; `content` replaces all of it."""

    call_id: str
    status: CallStatus | None = None
    title: str | None = None
    content: tuple[CallContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Mapping[str, JsonValue] | None = None
    raw_output: Mapping[str, JsonValue] | None = None
    instructions: tuple[str, ...] = ()
    """Files of instructions that came to the model with its result."""
    is_passing: bool = False
    """Whether it may be left out for a later one: a diff that grows, output that runs."""
    permission: str | None = None
    """What the user answered when this was asked about; kept, not shown."""
    parent_id: str = ""


@frozen
class TerminalOpened:
    """A command of ours runs, for clients that show its output as a terminal."""

    call_id: str
    terminal_id: str
    cwd: str
    parent_id: str = ""


@frozen
class TerminalPrinted:
    """More output of a command."""

    call_id: str
    terminal_id: str
    data: str
    parent_id: str = ""


@frozen
class TerminalEnded:
    """A command has ended: with a code, or by a signal."""

    call_id: str
    terminal_id: str
    exit_code: int | None
    signal: str | None
    parent_id: str = ""


@frozen
class PlanEntry:
    """One step of the plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"] = "medium"


@frozen
class PlanChanged:
    """The whole plan, in the place of the one before."""

    entries: tuple[PlanEntry, ...]


@frozen
class NoticeRaised:
    """Something to tell the user that is no part of the conversation."""

    severity: Literal["info", "warning", "error"]
    title: str
    message_id: str
    """For clients without notices, which get it as a thought."""
    is_said: bool = False
    """Whether those get it as a message instead: it must not be missed."""


@frozen
class CompactionChanged:
    """A summing up of the conversation begins, or has ended."""

    compaction_id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"]
    error: str = ""
    notice: NoticeRaised | None = None
    """What clients are told that do not show it; kept, too."""


@frozen
class SummaryChunk:
    """More of the summary that a conversation is given."""

    compaction_id: str
    text: str


@frozen
class ContextMeasured:
    """How full the model's window is after a call, and what the session has cost."""

    used_tokens: int
    window_tokens: int
    cost_usd: float | None


Event = (
    MessageChunk
    | ThoughtChunk
    | CallAppeared
    | CallChanged
    | TerminalOpened
    | TerminalPrinted
    | TerminalEnded
    | PlanChanged
    | NoticeRaised
    | CompactionChanged
    | SummaryChunk
    | ContextMeasured
)
