"""The `session/update` notification and all its variants."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field
from pydantic_core import MISSING

from acp_server.protocol.content import ContentBlock
from acp_server.protocol.identifiers import CompactionId, MessageId, SessionId, SessionModeId
from acp_server.protocol.model import (
    Clearable,
    ExtensibleModel,
    FilteredArray,
    Lenient,
    LenientArray,
    Meta,
    NonEmptyString,
    Uint64,
    WireModel,
)
from acp_server.protocol.sessions import SessionConfigOption
from acp_server.protocol.tool_calls import ToolCall, ToolCallUpdate

# Message chunks.


class ContentChunk(ExtensibleModel):
    """A chunk of a message; chunks with the same `message_id` form one message."""

    content: ContentBlock
    message_id: Lenient[MessageId] = None


class UserMessageChunk(ContentChunk):
    """A chunk of a user message."""

    session_update: Literal["user_message_chunk"] = "user_message_chunk"


class AgentMessageChunk(ContentChunk):
    """A chunk of an agent message."""

    session_update: Literal["agent_message_chunk"] = "agent_message_chunk"


class AgentThoughtChunk(ContentChunk):
    """A chunk of the agent's reasoning."""

    session_update: Literal["agent_thought_chunk"] = "agent_thought_chunk"


# Tool calls.


class ToolCallStart(ToolCall):
    """A new tool call."""

    session_update: Literal["tool_call"] = "tool_call"


class ToolCallProgress(ToolCallUpdate):
    """A change to a tool call."""

    session_update: Literal["tool_call_update"] = "tool_call_update"


# The plan.

PlanEntryPriority: TypeAlias = Literal["high", "medium", "low"]
PlanEntryStatus: TypeAlias = Literal["pending", "in_progress", "completed"]


class PlanEntry(ExtensibleModel):
    """One entry of the plan."""

    content: str
    priority: PlanEntryPriority
    status: PlanEntryStatus


class Plan(ExtensibleModel):
    """The complete plan; it replaces the previous one."""

    session_update: Literal["plan"] = "plan"
    entries: LenientArray[PlanEntry]


class PlanItems(ExtensibleModel):
    """The complete list of a plan's entries."""

    type: Literal["items"] = "items"
    plan_id: str
    entries: LenientArray[PlanEntry]


class PlanUpdate(ExtensibleModel):
    """The complete plan with this id (draft); needs client support."""

    session_update: Literal["plan_update"] = "plan_update"
    plan: PlanItems


class PlanRemoved(ExtensibleModel):
    """The plan with this id is gone (draft); needs client support."""

    session_update: Literal["plan_removed"] = "plan_removed"
    plan_id: str


# Commands, modes and options.


class UnstructuredCommandInput(ExtensibleModel):
    """Free text after the command's name; `hint` is shown while it is empty."""

    hint: str


AvailableCommandInput: TypeAlias = UnstructuredCommandInput


class AvailableCommand(ExtensibleModel):
    """A slash command; its name is without the slash."""

    name: str
    description: str
    input: Lenient[AvailableCommandInput] = None


class AvailableCommandsUpdate(ExtensibleModel):
    """All slash commands; they replace the previous list."""

    session_update: Literal["available_commands_update"] = "available_commands_update"
    available_commands: LenientArray[AvailableCommand]


class CurrentModeUpdate(ExtensibleModel):
    """The session's mode has changed."""

    session_update: Literal["current_mode_update"] = "current_mode_update"
    current_mode_id: SessionModeId


class ConfigOptionUpdate(ExtensibleModel):
    """All config options; they replace the previous list."""

    session_update: Literal["config_option_update"] = "config_option_update"
    config_options: LenientArray[SessionConfigOption]


# The session as a whole.


class SessionInfoUpdate(ExtensibleModel):
    """The session's title or time of last activity (ISO 8601) has changed."""

    session_update: Literal["session_info_update"] = "session_info_update"
    title: Clearable[str] = MISSING
    updated_at: Clearable[str] = MISSING


class Cost(ExtensibleModel):
    """An amount of money; `currency` is an ISO 4217 code."""

    amount: float
    currency: str


class UsageUpdate(ExtensibleModel):
    """Used size of the context window, in tokens, and the session's total cost."""

    session_update: Literal["usage_update"] = "usage_update"
    used: Uint64
    size: Uint64
    cost: Lenient[Cost] = None


NoticeSeverity: TypeAlias = Literal["info", "warning", "error"] | str


class Notice(ExtensibleModel):
    """A transient message to the user, outside the conversation; needs client support."""

    session_update: Literal["notice"] = "notice"
    severity: NoticeSeverity
    title: NonEmptyString
    description: Lenient[str] = None


# Compaction; needs client support.

CompactionStatus: TypeAlias = Literal["in_progress", "completed", "failed", "cancelled"] | str


class CompactionUpdate(WireModel):
    """Start or progress of a compaction; `_meta` can be cleared like the other fields."""

    session_update: Literal["compaction_update"] = "compaction_update"
    compaction_id: CompactionId
    status: CompactionStatus
    summary: Clearable[FilteredArray[ContentBlock]] = MISSING
    error: Clearable[str] = MISSING
    meta: Annotated[Clearable[Meta], Field(alias="_meta")] = MISSING


class CompactionSummaryChunk(ExtensibleModel):
    """A chunk to append to a compaction's summary."""

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
    """`session/update`: an update to show in a session."""

    session_id: SessionId
    update: SessionUpdate


# Sub-agents as child sessions.


class ChildCancelCapabilities(WireModel):
    """`session/cancel` may be sent for the child session."""


class ChildCapabilities(WireModel):
    """What the client may do to a child session."""

    cancel: Lenient[ChildCancelCapabilities] = None


class ChildError(WireModel):
    """Why a child session's work failed, as a JSON-RPC error."""

    code: int
    message: str


class ChildState(WireModel):
    """Whether a child session works; if it is idle, why it stopped."""

    state: Literal["running", "idle", "requires_action"]
    stop_reason: Lenient[str] = None
    error: Lenient[ChildError] = None


class SubAgentUpdate(ExtensibleModel):
    """A child session of this session, or a change of it (draft); needs client support.

    Fields that are left out keep their values.
    """

    session_update: Literal["subagent_update"] = "subagent_update"
    session_id: SessionId
    title: Lenient[str] = None
    capabilities: Lenient[ChildCapabilities] = None
    state: Lenient[ChildState] = None


class SessionMessage(ExtensibleModel):
    """A message from one session to another (draft); needs client support."""

    session_update: Literal["session_message"] = "session_message"
    message_id: MessageId
    sender_session_id: SessionId
    recipient_session_id: SessionId
    content: LenientArray[ContentBlock]


DraftUpdate: TypeAlias = PlanUpdate | PlanRemoved | SubAgentUpdate | SessionMessage
"""Updates that are not in the protocol yet; each needs a capability of the client."""


class DraftNotification(ExtensibleModel):
    """`session/update` with a draft of an update."""

    session_id: SessionId
    update: Annotated[DraftUpdate, Field(discriminator="session_update")]
