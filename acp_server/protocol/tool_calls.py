"""Tool calls as the user sees them: what is done, where, with which result, and by whose leave."""

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
    ExtensibleModel,
    Lenient,
    LenientArray,
    Omissible,
    Opaque,
    OrElse,
    SiftedArray,
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


def _other() -> ToolKind:
    return "other"


def _pending() -> ToolCallStatus:
    return "pending"


class Content(ExtensibleModel):
    """A content block as a tool's result."""

    type: Literal["content"] = "content"
    content: ContentBlock


class Diff(ExtensibleModel):
    """A change to a file, as its text before and after; no text before means a new file.

    `path` is absolute. `old_text` is written even when it is null.
    """

    type: Literal["diff"] = "diff"
    path: str
    old_text: Annotated[str | None, OrElse(lambda: None)] = None
    new_text: str


class Terminal(ExtensibleModel):
    """The live output of a terminal of the client's, shown until its release and kept after it."""

    type: Literal["terminal"] = "terminal"
    terminal_id: TerminalId


ToolCallContent: TypeAlias = Annotated[Content | Diff | Terminal, Field(discriminator="type")]


class ToolCallLocation(ExtensibleModel):
    """A place in a file that the call touches: an absolute path and a line, counted from 1."""

    path: str
    line: Lenient[Uint32] = None


class ToolCall(ExtensibleModel):
    """A call of a tool, as it is first shown."""

    tool_call_id: ToolCallId
    title: str
    name: Lenient[str] = None
    kind: Annotated[ToolKind, OrElse(_other)] = "other"
    status: Annotated[ToolCallStatus, OrElse(_pending)] = "pending"
    content: Annotated[LenientArray[ToolCallContent], UNLESS_EMPTY] = ()
    locations: Annotated[LenientArray[ToolCallLocation], UNLESS_EMPTY] = ()
    raw_input: Omissible[Opaque] = None
    raw_output: Omissible[Opaque] = None


class ToolCallUpdate(ExtensibleModel):
    """What has changed about a call: None keeps what was, arrays are replaced whole."""

    tool_call_id: ToolCallId
    kind: Lenient[ToolKind] = None
    status: Lenient[ToolCallStatus] = None
    title: Lenient[str] = None
    name: Lenient[str] = None
    content: Lenient[SiftedArray[ToolCallContent]] = None
    locations: Lenient[SiftedArray[ToolCallLocation]] = None
    raw_input: Omissible[Opaque] = None
    raw_output: Omissible[Opaque] = None


# Permission.

PermissionOptionKind: TypeAlias = Literal[
    "allow_once", "allow_always", "reject_once", "reject_always"
]


class PermissionOption(ExtensibleModel):
    """One of the answers the user may give."""

    option_id: PermissionOptionId
    name: str
    kind: PermissionOptionKind


class RequestPermissionRequest(ExtensibleModel):
    """`session/request_permission`: may this call go ahead?"""

    session_id: SessionId
    tool_call: ToolCallUpdate
    options: Array[PermissionOption]


class CancelledPermissionOutcome(WireModel):
    """Nobody answered: the turn was cancelled."""

    outcome: Literal["cancelled"] = "cancelled"


class SelectedPermissionOutcome(ExtensibleModel):
    """The user chose an option, which may be a rejection."""

    outcome: Literal["selected"] = "selected"
    option_id: PermissionOptionId


RequestPermissionOutcome: TypeAlias = Annotated[
    CancelledPermissionOutcome | SelectedPermissionOutcome, Field(discriminator="outcome")
]


class RequestPermissionResponse(ExtensibleModel):
    """What became of the question."""

    outcome: RequestPermissionOutcome
