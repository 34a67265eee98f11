"""Events of a turn, as the user sees them.

The union `Event` is closed: every renderer must handle each member.
"""

from collections.abc import Mapping
from typing import Literal

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
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


@frozen_dataclass
class Usage:
    """Token counts of one or more model calls, as the provider reports them.

    `input_tokens` excludes tokens that were read from or written to a cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_5m_tokens: int = 0
    cache_write_1h_tokens: int = 0
    is_fast: bool = False
    """Whether the provider ran the call in fast mode, which has another price; never true of a sum.
    """

    @property
    def cache_write_tokens(self) -> int:
        """Tokens written to a cache, with any lifetime."""
        return self.cache_write_5m_tokens + self.cache_write_1h_tokens

    @property
    def prompt_tokens(self) -> int:
        """All tokens that the model read."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return self._combine(other, 1)

    def __sub__(self, other: "Usage") -> "Usage":
        return self._combine(other, -1)

    def _combine(self, other: "Usage", sign: int) -> "Usage":
        return Usage(
            self.input_tokens + sign * other.input_tokens,
            self.output_tokens + sign * other.output_tokens,
            self.cache_read_tokens + sign * other.cache_read_tokens,
            self.cache_write_5m_tokens + sign * other.cache_write_5m_tokens,
            self.cache_write_1h_tokens + sign * other.cache_write_1h_tokens,
        )


@frozen_dataclass
class PromptReceived:
    """The user's prompt as the editor sent it; shown only when a session is replayed."""

    message_id: str
    parts: tuple[PromptPart, ...]
    checkpoint: str = ""
    """Id of the state before it; empty for a prompt that joined a running turn."""


@frozen_dataclass
class MessageChunk:
    """A piece of the answer; the chunks of one message share `message_id`."""

    message_id: str
    text: str


@frozen_dataclass
class ThoughtChunk:
    """A piece of the reasoning; the chunks of one thought share `message_id`."""

    message_id: str
    text: str


TEXT_CHUNKS = (MessageChunk, ThoughtChunk)
"""Streamed text. For `isinstance`: a union would be built anew for each chunk."""


@frozen_dataclass
class Location:
    """A file location that a tool call touches: absolute path and 1-based line."""

    path: str
    line: int | None = None


@frozen_dataclass
class FileDiff:
    """A file's text before and after, or a region of it; `old_text` is None for a new file."""

    path: str
    old_text: str | None
    new_text: str
    is_deletion: bool = False
    """Whether the file is deleted: an edit may also leave it empty."""


@frozen_dataclass
class TerminalView:
    """A reference to a terminal's live output."""

    terminal_id: str


CallContent = Text | Media | FileDiff | TerminalView


@frozen_dataclass
class CallAppeared:
    """The model started a tool call; nothing has run. Without a title, the tool's name is shown."""

    call_id: str
    name: str
    kind: CallKind = "other"
    title: str = ""
    parent_id: str = ""
    """The call that a sub-agent makes this one for; empty for the agent's own calls."""
    agent: str = ""
    """The name of the sub-agent's definition, if it has one."""


@frozen_dataclass
class CallChanged:
    """An update of a tool call. None keeps the shown value; `content` replaces all content."""

    call_id: str
    status: CallStatus | None = None
    title: str | None = None
    content: tuple[CallContent, ...] | None = None
    locations: tuple[Location, ...] | None = None
    raw_input: Mapping[str, JsonValue] | None = None
    raw_output: Mapping[str, JsonValue] | None = None
    instructions: tuple[str, ...] = ()
    """Instruction files that were delivered to the model with the result."""
    is_passing: bool = False
    """Whether a later update may replace this one unsent, such as a growing diff or live output."""
    permission: str | None = None
    """The user's answer to the permission request for this call; recorded, not shown."""
    parent_id: str = ""


@frozen_dataclass
class TerminalOpened:
    """One of our commands started; for clients that render its output as a terminal."""

    call_id: str
    terminal_id: str
    cwd: str
    parent_id: str = ""


@frozen_dataclass
class TerminalPrinted:
    """A piece of a command's output."""

    call_id: str
    terminal_id: str
    data: str
    parent_id: str = ""


@frozen_dataclass
class TerminalEnded:
    """A command ended, with an exit code or by a signal."""

    call_id: str
    terminal_id: str
    exit_code: int | None
    signal: str | None
    parent_id: str = ""


@frozen_dataclass
class PlanEntry:
    """One entry of the plan."""

    content: str
    status: Literal["pending", "in_progress", "completed"]
    priority: Literal["high", "medium", "low"] = "medium"


@frozen_dataclass
class PlanChanged:
    """The complete plan; replaces the previous one."""

    entries: tuple[PlanEntry, ...]


@frozen_dataclass
class NoticeRaised:
    """A notice for the user that is not part of the conversation."""

    severity: Literal["info", "warning", "error"]
    title: str
    message_id: str
    """For clients without notice support, which receive it as a thought chunk."""
    is_said: bool = False
    """Whether those clients receive it as a message instead, because it must not be missed."""


@frozen_dataclass
class CompactionChanged:
    """A compaction of the conversation started or ended."""

    compaction_id: str
    status: Literal["in_progress", "completed", "failed", "cancelled"]
    error: str = ""
    notice: NoticeRaised | None = None
    """Shown by clients that do not render compactions; recorded as well."""


@frozen_dataclass
class SummaryChunk:
    """A piece of the summary that a compaction produces."""

    compaction_id: str
    text: str


@frozen_dataclass
class ContextMeasured:
    """Fill level of the context window after a model call, and the session's cost so far."""

    used_tokens: int
    window_tokens: int
    cost_usd: float | None


@frozen_dataclass
class SubAgentStarted:
    """A sub-agent started its task: the call that delegated it, and the task's 1-based number."""

    parent_id: str
    number: int
    name: str
    """The task on one line."""
    prompt: str


@frozen_dataclass
class SubAgentProgressed:
    """A sub-agent's own text, plan or context usage, which is not part of its session's."""

    parent_id: str
    number: int
    event: MessageChunk | ThoughtChunk | PlanChanged | ContextMeasured


@frozen_dataclass
class SubAgentEnded:
    """A sub-agent ended; `stopped` means that its budget was used up."""

    parent_id: str
    number: int
    state: Literal["done", "stopped", "failed", "cancelled"]
    reason: str = ""


SubAgentEvent = SubAgentStarted | SubAgentProgressed | SubAgentEnded
"""Events of a sub-agent, for clients that show sub-agents; recorded as its conversation."""


def sub_agent_call_prefix(parent_id: str, number: int) -> str:
    """Return what the ids of a sub-agent's calls begin with, so that they are unique."""
    return f"{parent_id}.{number}."


def sub_agent_number(call_id: str, parent_id: str) -> int:
    """Return the number of the task that a sub-agent's call belongs to; 0 for another call.

    >>> sub_agent_number(f"{sub_agent_call_prefix('call_1', 2)}call_3", "call_1")
    2
    """
    number = call_id.removeprefix(f"{parent_id}.").partition(".")[0]
    return int(number) if parent_id and number.isdecimal() else 0


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
    | SubAgentEvent
)
