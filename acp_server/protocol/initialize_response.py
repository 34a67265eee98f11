"""The result of `initialize`: agent capabilities and authentication methods.

Used by the headless client and by tests. The server builds its own result in the handshake,
without models.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from acp_server.protocol.identifiers import AuthMethodId
from acp_server.protocol.initialize_request import Implementation, ProtocolVersion
from acp_server.protocol.model import (
    UNLESS_EMPTY,
    ExtensibleModel,
    Lenient,
    LenientArray,
    LenientFlag,
    LenientObject,
    NullableArray,
    NullableMap,
)


class PromptCapabilities(ExtensibleModel):
    """Content block types accepted in prompts, in addition to text and resource links."""

    image: LenientFlag = False
    audio: LenientFlag = False
    embedded_context: LenientFlag = False


class McpCapabilities(ExtensibleModel):
    """Supported MCP transports, in addition to stdio."""

    http: LenientFlag = False
    sse: LenientFlag = False


class SessionListCapabilities(ExtensibleModel):
    """The agent supports `session/list`."""


class SessionDeleteCapabilities(ExtensibleModel):
    """The agent supports `session/delete`."""


class SessionAdditionalDirectoriesCapabilities(ExtensibleModel):
    """The agent supports `additionalDirectories`."""


class SessionResumeCapabilities(ExtensibleModel):
    """The agent supports `session/resume`."""


class SessionCloseCapabilities(ExtensibleModel):
    """The agent supports `session/close`."""


class SessionCapabilities(ExtensibleModel):
    """Optional session methods, except `session/load`."""

    list: Lenient[SessionListCapabilities] = None
    delete: Lenient[SessionDeleteCapabilities] = None
    additional_directories: Lenient[SessionAdditionalDirectoriesCapabilities] = None
    resume: Lenient[SessionResumeCapabilities] = None
    close: Lenient[SessionCloseCapabilities] = None


class LogoutCapabilities(ExtensibleModel):
    """The agent supports `logout`."""


class AgentAuthCapabilities(ExtensibleModel):
    """Authentication capabilities, in addition to the authentication methods."""

    logout: Lenient[LogoutCapabilities] = None


class AgentCapabilities(ExtensibleModel):
    """Capabilities of the agent."""

    load_session: LenientFlag = False
    prompt_capabilities: LenientObject[PromptCapabilities] = Field(
        default_factory=PromptCapabilities
    )
    mcp_capabilities: LenientObject[McpCapabilities] = Field(default_factory=McpCapabilities)
    session_capabilities: LenientObject[SessionCapabilities] = Field(
        default_factory=SessionCapabilities
    )
    auth: LenientObject[AgentAuthCapabilities] = Field(default_factory=AgentAuthCapabilities)


# Authentication methods.


class AuthMethodAgent(ExtensibleModel):
    """A login that the agent performs itself on `authenticate`."""

    id: AuthMethodId
    name: str
    description: Lenient[str] = None


class AuthMethodTerminal(AuthMethodAgent):
    """A login in a terminal: the client runs the agent's command with these arguments added."""

    type: Literal["terminal"] = "terminal"
    args: Annotated[NullableArray[str], UNLESS_EMPTY] = ()
    env: Annotated[NullableMap[str], UNLESS_EMPTY] = Field(default_factory=dict[str, str])


AuthMethod: TypeAlias = Annotated[
    Annotated[AuthMethodTerminal, Field(discriminator="type")] | AuthMethodAgent,
    Field(union_mode="left_to_right"),
]


# The result.


class InitializeResponse(ExtensibleModel):
    """Result of `initialize`: the negotiated version and the agent's capabilities."""

    protocol_version: ProtocolVersion
    agent_capabilities: LenientObject[AgentCapabilities] = Field(default_factory=AgentCapabilities)
    auth_methods: LenientArray[AuthMethod] = ()
    agent_info: Lenient[Implementation] = None
