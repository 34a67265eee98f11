"""Sessions: how one is begun, found again, set up and ended, with its modes and config options."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from acp_server.protocol.identifiers import (
    SessionConfigGroupId,
    SessionConfigId,
    SessionConfigValueId,
    SessionId,
    SessionModeId,
)
from acp_server.protocol.model import (
    UNLESS_EMPTY,
    Array,
    ExtensibleModel,
    Lenient,
    LenientArray,
    NonEmptyString,
    NullableArray,
    Omissible,
    SiftedArray,
)

# MCP servers, which the client hands to a session.


class EnvVariable(ExtensibleModel):
    """One variable of a process's environment."""

    name: str
    value: str


class HttpHeader(ExtensibleModel):
    """One header to send with every request."""

    name: str
    value: str


class McpServerHttp(ExtensibleModel):
    """An MCP server reached over streamable HTTP."""

    type: Literal["http"] = "http"
    name: str
    url: str
    headers: NullableArray[HttpHeader]


class McpServerSse(ExtensibleModel):
    """An MCP server reached over HTTP and server-sent events, which MCP has deprecated."""

    type: Literal["sse"] = "sse"
    name: str
    url: str
    headers: NullableArray[HttpHeader]


class McpServerStdio(ExtensibleModel):
    """An MCP server that the agent starts as a child process; the one kind without a `type`."""

    name: str
    command: str
    args: NullableArray[str]
    env: NullableArray[EnvVariable]


McpServer: TypeAlias = Annotated[
    Annotated[McpServerHttp | McpServerSse, Field(discriminator="type")] | McpServerStdio,
    Field(union_mode="left_to_right"),
]

McpServers: TypeAlias = LenientArray[McpServer]
"""More forgiving than the schema: one bad server must not cost the user the session."""

AdditionalDirectories: TypeAlias = Annotated[NullableArray[NonEmptyString], UNLESS_EMPTY]
"""Absolute paths beside the working directory; a bad one is an error, never dropped."""

# Modes.


class SessionMode(ExtensibleModel):
    """A way for the agent to work that the user can choose."""

    id: SessionModeId
    name: str
    description: Lenient[str] = None


class SessionModeState(ExtensibleModel):
    """The modes of a session, and the one it is in."""

    current_mode_id: SessionModeId
    available_modes: LenientArray[SessionMode]


class SetSessionModeRequest(ExtensibleModel):
    """`session/set_mode`: change to this mode."""

    session_id: SessionId
    mode_id: SessionModeId


class SetSessionModeResponse(ExtensibleModel):
    """The mode is changed."""


# Config options, which are for everything the user can choose, modes included.

SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)


class SessionConfigSelectOption(ExtensibleModel):
    """One value of a select."""

    value: SessionConfigValueId
    name: str
    description: Lenient[str] = None


class SessionConfigSelectGroup(ExtensibleModel):
    """Values of a select under a common heading."""

    group: SessionConfigGroupId
    name: str
    options: LenientArray[SessionConfigSelectOption]


SessionConfigSelectOptions: TypeAlias = Annotated[
    Array[SessionConfigSelectOption] | Array[SessionConfigSelectGroup],
    Field(union_mode="left_to_right"),
]


class ConfigOption(ExtensibleModel):
    """What every config option has."""

    id: SessionConfigId
    name: str
    description: Lenient[str] = None
    category: Lenient[SessionConfigOptionCategory] = None


class SessionConfigSelect(ConfigOption):
    """A config option with one value out of a list."""

    type: Literal["select"] = "select"
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(ConfigOption):
    """A config option that is on or off, for clients that have said they show them."""

    type: Literal["boolean"] = "boolean"
    current_value: bool


SessionConfigOption: TypeAlias = Annotated[
    SessionConfigSelect | SessionConfigBoolean, Field(discriminator="type")
]


class SetSessionConfigOptionRequest(ExtensibleModel):
    """`session/set_config_option`: a boolean, with its type beside it, or the id of a value."""

    session_id: SessionId
    config_id: SessionConfigId
    type: Lenient[Literal["boolean"]] = None
    value: bool | SessionConfigValueId

    @model_validator(mode="after")
    def _boolean_has_its_type(self) -> Self:
        if isinstance(self.value, bool) and self.type is None:
            raise ValueError("a boolean value needs the type 'boolean'")
        return self


class SetSessionConfigOptionResponse(ExtensibleModel):
    """All config options, as they are after the change."""

    config_options: LenientArray[SessionConfigOption]


# The life of a session.


class SessionSetup(ExtensibleModel):
    """What a client is told about a session that is ready for it."""

    modes: Lenient[SessionModeState] = None
    config_options: Lenient[SiftedArray[SessionConfigOption]] = None


class NewSessionRequest(ExtensibleModel):
    """`session/new`: begin a conversation in this directory."""

    cwd: str
    additional_directories: AdditionalDirectories = ()
    mcp_servers: McpServers = ()


class NewSessionResponse(SessionSetup):
    """The new session."""

    session_id: SessionId


class LoadSessionRequest(ExtensibleModel):
    """`session/load`: take a conversation up again, and replay it."""

    session_id: SessionId
    cwd: str
    additional_directories: AdditionalDirectories = ()
    mcp_servers: McpServers = ()


class LoadSessionResponse(SessionSetup):
    """The session is ready, and has been replayed."""


class ResumeSessionRequest(ExtensibleModel):
    """`session/resume`: take a conversation up again, and replay nothing."""

    session_id: SessionId
    cwd: str
    additional_directories: AdditionalDirectories = ()
    mcp_servers: McpServers = ()


class ResumeSessionResponse(SessionSetup):
    """The session is ready."""


class ListSessionsRequest(ExtensibleModel):
    """`session/list`: a page of the sessions, of one working directory or of all."""

    cwd: Omissible[str] = None
    cursor: Omissible[str] = None


class SessionInfo(ExtensibleModel):
    """One session in a list; `updated_at` is ISO 8601."""

    session_id: SessionId
    cwd: str
    additional_directories: Annotated[LenientArray[str], UNLESS_EMPTY] = ()
    title: Lenient[str] = None
    updated_at: Lenient[str] = None


class ListSessionsResponse(ExtensibleModel):
    """A page of sessions; no cursor means that it is the last."""

    sessions: LenientArray[SessionInfo]
    next_cursor: Lenient[str] = None


class CloseSessionRequest(ExtensibleModel):
    """`session/close`: stop its work and free what it holds; it stays in the list."""

    session_id: SessionId


class CloseSessionResponse(ExtensibleModel):
    """The session is closed."""


class DeleteSessionRequest(ExtensibleModel):
    """`session/delete`: take it out of the list for good."""

    session_id: SessionId


class DeleteSessionResponse(ExtensibleModel):
    """The session is gone, or never was."""
