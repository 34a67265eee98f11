"""Who the two peers are, what each can do, and how the user signs in and out.

A capability object means "yes" by being there, however empty; absent means "no".
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from acp_server.protocol.identifiers import AuthMethodId
from acp_server.protocol.model import (
    UNLESS_EMPTY,
    ExtensibleModel,
    Lenient,
    LenientArray,
    LenientFlag,
    LenientObject,
    NullableArray,
    NullableMap,
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


# What agents can do.


class PromptCapabilities(ExtensibleModel):
    """The content blocks a prompt may hold beside text and resource links."""

    image: LenientFlag = False
    audio: LenientFlag = False
    embedded_context: LenientFlag = False


class McpCapabilities(ExtensibleModel):
    """The transports to MCP servers the agent speaks beside stdio."""

    http: LenientFlag = False
    sse: LenientFlag = False


class SessionListCapabilities(ExtensibleModel):
    """The agent lists its sessions."""


class SessionDeleteCapabilities(ExtensibleModel):
    """The agent deletes sessions."""


class SessionAdditionalDirectoriesCapabilities(ExtensibleModel):
    """The agent works in more directories than one."""


class SessionResumeCapabilities(ExtensibleModel):
    """The agent resumes sessions without replaying them."""


class SessionCloseCapabilities(ExtensibleModel):
    """The agent closes sessions."""


class SessionCapabilities(ExtensibleModel):
    """The session methods the agent has beside the basic ones and `session/load`."""

    list: Lenient[SessionListCapabilities] = None
    delete: Lenient[SessionDeleteCapabilities] = None
    additional_directories: Lenient[SessionAdditionalDirectoriesCapabilities] = None
    resume: Lenient[SessionResumeCapabilities] = None
    close: Lenient[SessionCloseCapabilities] = None


class LogoutCapabilities(ExtensibleModel):
    """The agent can sign the user out."""


class AgentAuthCapabilities(ExtensibleModel):
    """What the agent can do about credentials beside its authentication methods."""

    logout: Lenient[LogoutCapabilities] = None


class AgentCapabilities(ExtensibleModel):
    """What the client may ask of the agent."""

    load_session: LenientFlag = False
    prompt_capabilities: LenientObject[PromptCapabilities] = Field(
        default_factory=PromptCapabilities
    )
    mcp_capabilities: LenientObject[McpCapabilities] = Field(default_factory=McpCapabilities)
    session_capabilities: LenientObject[SessionCapabilities] = Field(
        default_factory=SessionCapabilities
    )
    auth: LenientObject[AgentAuthCapabilities] = Field(default_factory=AgentAuthCapabilities)


# Signing in and out.


class AuthMethodAgent(ExtensibleModel):
    """A login that the agent runs by itself when `authenticate` asks for it."""

    id: AuthMethodId
    name: str
    description: Lenient[str] = None


class AuthMethodTerminal(AuthMethodAgent):
    """A login that the client runs in a terminal: the agent's own command, with these added."""

    type: Literal["terminal"] = "terminal"
    args: Annotated[NullableArray[str], UNLESS_EMPTY] = ()
    env: Annotated[NullableMap[str], UNLESS_EMPTY] = Field(default_factory=dict[str, str])


AuthMethod: TypeAlias = Annotated[
    Annotated[AuthMethodTerminal, Field(discriminator="type")] | AuthMethodAgent,
    Field(union_mode="left_to_right"),
]


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


class InitializeResponse(ExtensibleModel):
    """The version both will speak, and what the agent can do."""

    protocol_version: ProtocolVersion
    agent_capabilities: LenientObject[AgentCapabilities] = Field(default_factory=AgentCapabilities)
    auth_methods: LenientArray[AuthMethod] = ()
    agent_info: Lenient[Implementation] = None
