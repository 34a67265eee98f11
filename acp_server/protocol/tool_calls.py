"""Tool calls as shown to the user, and permission requests for them."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from acp_server.protocol.content import ContentBlock
from acp_server.protocol.identifiers import (
    PermissionOptionId,
    SessionId,
    TerminalId,
    ToolCallId,
)
from acp_server.protocol.model import (
    UNLESS_EMPTY,
    Array,
    DefaultOnError,
    ExtensibleModel,
    FilteredArray,
    Lenient,
    LenientArray,
    Omissible,
    Opaque,
    Uint32,
    WireModel,
)

ToolKind: TypeAlias = Literal[
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

ToolCallStatus: TypeAlias = Literal["pending", "in_progress", "completed", "failed"]


class Content(ExtensibleModel):
    """A content block in a tool's result."""

    type: Literal["content"] = "content"
    content: ContentBlock


class Diff(ExtensibleModel):
    """A file change: text before (null for a new file) and after.

    `path` is absolute. `old_text` is serialized even if it is null.
    """

    type: Literal["diff"] = "diff"
    path: str
    old_text: Annotated[str | None, DefaultOnError(None)] = None
    new_text: str


class Terminal(ExtensibleModel):
    """Live output of a client terminal; clients keep showing it after the release."""

    type: Literal["terminal"] = "terminal"
    terminal_id: TerminalId


ToolCallContent: TypeAlias = Annotated[Content | Diff | Terminal, Field(discriminator="type")]


class ToolCallLocation(ExtensibleModel):
    """A file location that the call touches: absolute path, and line counted from 1."""

    path: str
    line: Lenient[Uint32] = None


class ToolCall(ExtensibleModel):
    """A new tool call."""

    tool_call_id: ToolCallId
    title: str
    name: Lenient[str] = None
    kind: Annotated[ToolKind, DefaultOnError("other")] = "other"
    status: Annotated[ToolCallStatus, DefaultOnError("pending")] = "pending"
    content: Annotated[LenientArray[ToolCallContent], UNLESS_EMPTY] = ()
    locations: Annotated[LenientArray[ToolCallLocation], UNLESS_EMPTY] = ()
    raw_input: Omissible[Opaque] = None
    raw_output: Omissible[Opaque] = None


class ToolCallUpdate(ExtensibleModel):
    """Changed fields of a tool call: None keeps the old value, arrays are replaced entirely."""

    tool_call_id: ToolCallId
    kind: Lenient[ToolKind] = None
    status: Lenient[ToolCallStatus] = None
    title: Lenient[str] = None
    name: Lenient[str] = None
    content: Lenient[FilteredArray[ToolCallContent]] = None
    locations: Lenient[FilteredArray[ToolCallLocation]] = None
    raw_input: Omissible[Opaque] = None
    raw_output: Omissible[Opaque] = None


# Permission.

PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always"
]


class PermissionOption(ExtensibleModel):
    """One answer that the user can choose."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(ExtensibleModel):
    """`session/request_permission`: ask the user whether a tool call may run."""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: Array[PermissionOption]


class CancelledPermissionOutcome(WireModel):
    """The turn was cancelled before the user answered."""

    outcome: Literal["cancelled"] = "cancelled"


class SelectedPermissionOutcome(ExtensibleModel):
    """The user chose an option, which may be a rejection."""

    outcome: Literal["selected"] = "selected"
    option_id: PermissionOptionId


RequestPermissionOutcome: TypeAlias = Annotated[
    CancelledPermissionOutcome | SelectedPermissionOutcome, Field(discriminator="outcome")
]


class RequestPermissionResponse(ExtensibleModel):
    """The outcome of a permission request."""

    outcome: RequestPermissionOutcome
