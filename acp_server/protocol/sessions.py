"""Sessions: create, load, list and close them; their modes and config options."""

from typing import Annotated, Literal, Self, TypeAlias, cast

from pydantic import Field, ValidationError, model_validator

from acp_server.protocol.content import ContentBlock
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
    FilteredArray,
    Lenient,
    LenientArray,
    NonEmptyString,
    NullableArray,
    Omissible,
)

# MCP servers that the client passes to a session.


class EnvVariable(ExtensibleModel):
    """One environment variable."""

    name: str
    value: str


class HttpHeader(ExtensibleModel):
    """One HTTP header, sent with every request."""

    name: str
    value: str


class McpServerHttp(ExtensibleModel):
    """An MCP server reached over streamable HTTP."""

    type: Literal["http"] = "http"
    name: str
    url: str
    headers: NullableArray[HttpHeader]


class McpServerSse(ExtensibleModel):
    """An MCP server reached over HTTP with server-sent events (deprecated in MCP)."""

    type: Literal["sse"] = "sse"
    name: str
    url: str
    headers: NullableArray[HttpHeader]


class McpServerStdio(ExtensibleModel):
    """An MCP server that the agent starts as a child process; the only kind without `type`."""

    name: str
    command: str
    args: NullableArray[str]
    env: NullableArray[EnvVariable]


McpServer: TypeAlias = Annotated[
    Annotated[McpServerHttp | McpServerSse, Field(discriminator="type")] | McpServerStdio,
    Field(union_mode="left_to_right"),
]


class McpServerAcp(ExtensibleModel):
    """An MCP server that the client provides over its own connection (draft)."""

    type: Literal["acp"]
    name: str
    server_id: str


RequestedMcpServer: TypeAlias = Annotated[
    McpServerAcp | McpServer, Field(union_mode="left_to_right")
]

McpServers: TypeAlias = LenientArray[RequestedMcpServer]
"""More lenient than the schema: one invalid server must not make the session fail."""

AdditionalDirectories: TypeAlias = Annotated[NullableArray[NonEmptyString], UNLESS_EMPTY]
"""Additional absolute paths; an invalid one is an error, never dropped silently."""

# Modes.


class SessionMode(ExtensibleModel):
    """A mode that the user can choose."""

    id: SessionModeId
    name: str
    description: Lenient[str] = None


class SessionModeState(ExtensibleModel):
    """The modes of a session and its current one."""

    current_mode_id: SessionModeId
    available_modes: LenientArray[SessionMode]


class SetSessionModeRequest(ExtensibleModel):
    """`session/set_mode`: switch to a mode."""

    session_id: SessionId
    mode_id: SessionModeId


class SetSessionModeResponse(ExtensibleModel):
    """Confirms the change."""


# Config options: everything that the user can choose, including modes.

SessionConfigOptionCategory: TypeAlias = (
    Literal["mode", "model", "model_config", "thought_level"] | str
)


class SessionConfigSelectOption(ExtensibleModel):
    """One value of a select."""

    value: SessionConfigValueId
    name: str
    description: Lenient[str] = None


class SessionConfigSelectGroup(ExtensibleModel):
    """A group of select values with a heading."""

    group: SessionConfigGroupId
    name: str
    options: LenientArray[SessionConfigSelectOption]


SessionConfigSelectOptions: TypeAlias = Annotated[
    Array[SessionConfigSelectOption] | Array[SessionConfigSelectGroup],
    Field(union_mode="left_to_right"),
]


class ConfigOption(ExtensibleModel):
    """Common fields of config options."""

    id: SessionConfigId
    name: str
    description: Lenient[str] = None
    category: Lenient[SessionConfigOptionCategory] = None


class SessionConfigSelect(ConfigOption):
    """A config option with one value of a list."""

    type: Literal["select"] = "select"
    current_value: SessionConfigValueId
    options: SessionConfigSelectOptions


class SessionConfigBoolean(ConfigOption):
    """A boolean config option, for clients that advertise support for them."""

    type: Literal["boolean"] = "boolean"
    current_value: bool


SessionConfigOption: TypeAlias = Annotated[
    SessionConfigSelect | SessionConfigBoolean, Field(discriminator="type")
]


class SetSessionConfigOptionRequest(ExtensibleModel):
    """`session/set_config_option`: set a value id, or a boolean together with its type."""

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
    """All config options after the change."""

    config_options: LenientArray[SessionConfigOption]


# Session lifecycle.


class ClientSystemPrompt(ExtensibleModel):
    """Instructions of the client for a session (draft); `mode` says how they are combined."""

    mode: str
    content: Array[ContentBlock]


class SessionRequest(ExtensibleModel):
    """Common fields of requests that open a session in a working directory."""

    cwd: str
    additional_directories: AdditionalDirectories = ()
    mcp_servers: McpServers = ()
    system_prompt: Omissible[ClientSystemPrompt] = None


class SessionSetup(ExtensibleModel):
    """Modes and config options of a session that is ready."""

    modes: Lenient[SessionModeState] = None
    config_options: Lenient[FilteredArray[SessionConfigOption]] = None


class _PlainSessionRequest(ExtensibleModel):
    """Fields of a request without MCP servers and instructions, whose types take long to build."""

    cwd: str
    additional_directories: AdditionalDirectories = ()


def _has_plain_fields(value: object) -> bool:
    if not isinstance(value, dict):
        return False
    fields = cast("dict[str, object]", value)
    return fields.get("mcpServers") == [] and "systemPrompt" not in fields


class NewSessionRequest(SessionRequest):
    """`session/new`: start a session in a working directory."""

    @classmethod
    def from_wire(cls, value: object) -> Self:
        """Validate parsed JSON; most requests do not wait until the types of servers are built.

        Raises:
            ValidationError: A strict field is missing or invalid.
        """
        if _has_plain_fields(value):
            try:
                plain = _PlainSessionRequest.from_wire(value)
            except ValidationError:
                pass  # the whole validation says what is wrong
            else:
                return cls.model_construct(
                    plain.model_fields_set | {"mcp_servers"},
                    meta=plain.meta,
                    cwd=plain.cwd,
                    additional_directories=plain.additional_directories,
                )
        return super().from_wire(value)


class NewSessionResponse(SessionSetup):
    """The new session."""

    session_id: SessionId


class LoadSessionRequest(SessionRequest):
    """`session/load`: restore a session and replay its conversation."""

    session_id: SessionId


class LoadSessionResponse(SessionSetup):
    """The restored session; the replay was sent before."""


class ResumeSessionRequest(SessionRequest):
    """`session/resume`: restore a session without replay."""

    session_id: SessionId


class ResumeSessionResponse(SessionSetup):
    """The restored session."""


class ListSessionsRequest(ExtensibleModel):
    """`session/list`: list sessions, of one working directory or all, page by page."""

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
    """A page of sessions; without `next_cursor` it is the last."""

    sessions: LenientArray[SessionInfo]
    next_cursor: Lenient[str] = None


class CloseSessionRequest(ExtensibleModel):
    """`session/close`: stop a session and free its resources; it stays listed."""

    session_id: SessionId


class CloseSessionResponse(ExtensibleModel):
    """Confirms that the session is closed."""


class DeleteSessionRequest(ExtensibleModel):
    """`session/delete`: remove a session permanently."""

    session_id: SessionId


class DeleteSessionResponse(ExtensibleModel):
    """The session is deleted, or did not exist."""
