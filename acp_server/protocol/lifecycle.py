"""Who the client is, what it can do, and the calls by which its user signs in and out.

A capability object means "yes" by being there, however empty; absent means "no". What agents
answer is in `greeting`: ours answers before it has any models.
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
    """The program at one end: its name for machines, its title for people, its version."""

    name: str
    title: Lenient[str] = None
    version: str


# What clients can do.


class FileSystemCapabilities(ExtensibleModel):
    """Which of the client's file methods the agent may call."""

    read_text_file: LenientFlag = False
    write_text_file: LenientFlag = False


class AuthCapabilities(ExtensibleModel):
    """Whether the client can run a login in a terminal."""

    terminal: LenientFlag = False


class BooleanConfigOptionCapabilities(ExtensibleModel):
    """The client shows config options that are on or off."""


class SessionConfigOptionsCapabilities(ExtensibleModel):
    """Which kinds of config option, beside selects, the client shows."""

    boolean: Lenient[BooleanConfigOptionCapabilities] = None


class NoticeCapabilities(WireModel):
    """The client shows notices."""


class CompactionCapabilities(WireModel):
    """The client shows compactions of the context and their summaries."""


class ClientSessionCapabilities(ExtensibleModel):
    """What the client shows beyond the basic session updates."""

    compaction: Lenient[CompactionCapabilities] = None
    config_options: Lenient[SessionConfigOptionsCapabilities] = None
    notices: Lenient[NoticeCapabilities] = None


class ElicitationFormCapabilities(ExtensibleModel):
    """The client shows forms."""


class ElicitationUrlCapabilities(ExtensibleModel):
    """The client opens web pages."""


class ElicitationCapabilities(ExtensibleModel):
    """The ways in which the client can ask the user for input; neither means none."""

    form: Lenient[ElicitationFormCapabilities] = None
    url: Lenient[ElicitationUrlCapabilities] = None


class ClientCapabilities(ExtensibleModel):
    """What the agent may ask of the client and show through it."""

    fs: LenientObject[FileSystemCapabilities] = Field(default_factory=FileSystemCapabilities)
    terminal: LenientFlag = False
    session: Lenient[ClientSessionCapabilities] = None
    auth: LenientObject[AuthCapabilities] = Field(default_factory=AuthCapabilities)
    elicitation: Lenient[ElicitationCapabilities] = None


# Signing in and out.


class AuthenticateRequest(ExtensibleModel):
    """`authenticate`: run this login."""

    method_id: AuthMethodId


class AuthenticateResponse(ExtensibleModel):
    """The user is signed in."""


class LogoutRequest(ExtensibleModel):
    """`logout`: forget the credentials."""


class LogoutResponse(ExtensibleModel):
    """The user is signed out."""


# The handshake.


class InitializeRequest(ExtensibleModel):
    """`initialize`: the version the client would like, and what it can do."""

    protocol_version: ProtocolVersion
    client_capabilities: LenientObject[ClientCapabilities] = Field(
        default_factory=ClientCapabilities
    )
    client_info: Lenient[Implementation] = None
