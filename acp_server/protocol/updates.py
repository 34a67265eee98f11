"""What the agent shows while it works: the `session/update` notification and all its variants."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field
from pydantic_core import MISSING

from acp_server.protocol.content import ContentBlock
from acp_server.protocol.identifiers import CompactionId, MessageId, SessionId, SessionModeId
from acp_server.protocol.model import (
    Clearable,
    ExtensibleModel,
    Lenient,
    LenientArray,
    Meta,
    NonEmptyString,
    SiftedArray,
    Uint64,
    WireModel,
)
from acp_server.protocol.sessions import SessionConfigOption
from acp_server.protocol.tool_calls import ToolCall, ToolCallUpdate

# Messages, which arrive in chunks.


class ContentChunk(ExtensibleModel):
    """A piece of a message; pieces with the same `message_id` make up one message."""

    content: ContentBlock
    message_id: Lenient[MessageId] = None


class UserMessageChunk(ContentChunk):
    """A piece of what the user said."""

    session_update: Literal["user_message_chunk"] = "user_message_chunk"


class AgentMessageChunk(ContentChunk):
    """A piece of what the agent says."""

    session_update: Literal["agent_message_chunk"] = "agent_message_chunk"


class AgentThoughtChunk(ContentChunk):
    """A piece of what the agent thinks."""

    session_update: Literal["agent_thought_chunk"] = "agent_thought_chunk"


# Tool calls.


class ToolCallStart(ToolCall):
    """A tool call appears."""

    session_update: Literal["tool_call"] = "tool_call"


class ToolCallProgress(ToolCallUpdate):
    """A tool call that has appeared changes."""

    session_update: Literal["tool_call_update"] = "tool_call_update"


# The plan.

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]


class PlanEntry(ExtensibleModel):
    """One step of the plan."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class Plan(ExtensibleModel):
    """The whole plan, in the place of the one before."""

    session_update: Literal["plan"] = "plan"
    entries: LenientArray[PlanEntry]


# What the user can choose from.


class UnstructuredCommandInput(ExtensibleModel):
    """Everything typed after the command's name, with a hint for the empty field."""

    hint: str


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(ExtensibleModel):
    """A slash command; its name is without the slash."""

    name: str
    description: str
    input: Lenient[AvailableCommandInput] = None


class AvailableCommandsUpdate(ExtensibleModel):
    """All slash commands, in the place of those before."""

    session_update: Literal["available_commands_update"] = "available_commands_update"
    available_commands: LenientArray[AvailableCommand]


class CurrentModeUpdate(ExtensibleModel):
    """The session has changed to another mode."""

    session_update: Literal["current_mode_update"] = "current_mode_update"
    current_mode_id: SessionModeId


class ConfigOptionUpdate(ExtensibleModel):
    """All config options, in the place of those before."""

    session_update: Literal["config_option_update"] = "config_option_update"
    config_options: LenientArray[SessionConfigOption]


# The session as a whole.


class SessionInfoUpdate(ExtensibleModel):
    """The session has another title or was active at another time (ISO 8601)."""

    session_update: Literal["session_info_update"] = "session_info_update"
    title: Clearable[str] = MISSING
    updated_at: Clearable[str] = MISSING


class Cost(ExtensibleModel):
    """A sum of money; `currency` is ISO 4217."""

    amount: float
    currency: str


class UsageUpdate(ExtensibleModel):
    """How full the context window is, in tokens, and what the session has cost so far."""

    session_update: Literal["usage_update"] = "usage_update"
    used: Uint64
    size: Uint64
    cost: Lenient[Cost] = None


NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str


class Notice(ExtensibleModel):
    """A live word to the user that is no part of the conversation, for clients that show them."""

    session_update: Literal["notice"] = "notice"
    severity: NoticeSeverity
    title: NonEmptyString
    description: Lenient[str] = None


# Compaction, for clients that show it.

CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str


class CompactionUpdate(WireModel):
    """A compaction of the context begins or changes; its metadata can be cleared like the rest."""

    session_update: Literal["compaction_update"] = "compaction_update"
    compaction_id: CompactionId
    status: CompactionStatus
    summary: Clearable[SiftedArray[ContentBlock]] = MISSING
    error: Clearable[str] = MISSING
    meta: Annotated[Clearable[Meta], Field(alias="_meta")] = MISSING


class CompactionSummaryChunk(ExtensibleModel):
    """A piece that is added to the end of a compaction's summary."""

    session_update: Literal["compaction_summary_chunk"] = "compaction_summary_chunk"
    compaction_id: CompactionId
    content: ContentBlock


SessionUpdate: TypeAlias = Annotated[
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallStart
    | ToolCallProgress
    | Plan
    | AvailableCommandsUpdate
    | CurrentModeUpdate
    | ConfigOptionUpdate
    | SessionInfoUpdate
    | UsageUpdate
    | Notice
    | CompactionUpdate
    | CompactionSummaryChunk,
    Field(discriminator="session_update"),
]


class SessionNotification(ExtensibleModel):
    """`session/update`: something to show in this session."""

    session_id: SessionId
    update: SessionUpdate
