"""`initialize`, client capabilities, `authenticate` and `logout`.

A capability object means "supported" if it is present, even if it is empty. The agent's side of
`initialize` is in `initialize_response`.
"""

from typing import TypeAlias

from pydantic import Field

from acp_server.protocol.identifiers import AuthMethodId
from acp_server.protocol.model import (
    ExtensibleModel,
    Lenient,
    LenientFlag,
    LenientObject,
    Uint16,
    WireModel,
)

ProtocolVersion: TypeAlias = Uint16


class Implementation(ExtensibleModel):
    """Name, display title and version of a client or an agent."""

    name: str
    title: Lenient[str] = None
    version: str


# Client capabilities.


class FileSystemCapabilities(ExtensibleModel):
    """Supported file methods."""

    read_text_file: LenientFlag = False
    write_text_file: LenientFlag = False


class AuthCapabilities(ExtensibleModel):
    """Whether the client can run a terminal login."""

    terminal: LenientFlag = False


class BooleanConfigOptionCapabilities(ExtensibleModel):
    """The client supports boolean config options."""


class SessionConfigOptionsCapabilities(ExtensibleModel):
    """Supported kinds of config options, in addition to selects."""

    boolean: Lenient[BooleanConfigOptionCapabilities] = None


class NoticeCapabilities(WireModel):
    """The client supports `notice` updates."""


class CompactionCapabilities(WireModel):
    """The client supports compaction updates."""


class ClientSessionCapabilities(ExtensibleModel):
    """Optional session updates that the client supports."""

    compaction: Lenient[CompactionCapabilities] = None
    config_options: Lenient[SessionConfigOptionsCapabilities] = None
    notices: Lenient[NoticeCapabilities] = None


class ElicitationFormCapabilities(ExtensibleModel):
    """The client supports form elicitation."""


class ElicitationUrlCapabilities(ExtensibleModel):
    """The client supports URL elicitation."""


class ElicitationCapabilities(ExtensibleModel):
    """Supported elicitation modes."""

    form: Lenient[ElicitationFormCapabilities] = None
    url: Lenient[ElicitationUrlCapabilities] = None


class PlanCapabilities(WireModel):
    """The client supports `plan_update` and `plan_removed` (draft)."""


class SubAgentCapabilities(WireModel):
    """The client shows sub-agents as child sessions (draft)."""


class ClientCapabilities(ExtensibleModel):
    """Capabilities of the client."""

    fs: LenientObject[FileSystemCapabilities] = Field(default_factory=FileSystemCapabilities)
    terminal: LenientFlag = False
    session: Lenient[ClientSessionCapabilities] = None
    auth: LenientObject[AuthCapabilities] = Field(default_factory=AuthCapabilities)
    elicitation: Lenient[ElicitationCapabilities] = None
    plan: Lenient[PlanCapabilities] = None
    subagents: Lenient[SubAgentCapabilities] = None


# Authentication.


class AuthenticateRequest(ExtensibleModel):
    """`authenticate`: sign in with this method."""

    method_id: AuthMethodId


class AuthenticateResponse(ExtensibleModel):
    """The user is signed in."""


class LogoutRequest(ExtensibleModel):
    """`logout`: delete the credentials."""


class LogoutResponse(ExtensibleModel):
    """The user is signed out."""


# The handshake.


class InitializeRequest(ExtensibleModel):
    """`initialize`: the requested protocol version and the client's capabilities."""

    protocol_version: ProtocolVersion
    client_capabilities: LenientObject[ClientCapabilities] = Field(
        default_factory=ClientCapabilities
    )
    client_info: Lenient[Implementation] = None
