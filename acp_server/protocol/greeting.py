"""What an agent answers to `initialize`: what it can do, and how its user can sign in.

For those who read such an answer: the server itself writes its own without models.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from acp_server.protocol.identifiers import AuthMethodId
from acp_server.protocol.lifecycle import Implementation, ProtocolVersion
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


# How users sign in.


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


# The answer.


class InitializeResponse(ExtensibleModel):
    """The version both will speak, and what the agent can do."""

    protocol_version: ProtocolVersion
    agent_capabilities: LenientObject[AgentCapabilities] = Field(default_factory=AgentCapabilities)
    auth_methods: LenientArray[AuthMethod] = ()
    agent_info: Lenient[Implementation] = None
