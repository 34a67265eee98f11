"""Messages outside the protocol: our own methods, third-party conventions, protocol drafts."""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field, JsonValue

from acp_server.protocol.identifiers import SessionId, ToolCallId
from acp_server.protocol.model import (
    UNLESS_EMPTY,
    Array,
    DefaultOnError,
    ExtensibleModel,
    FilteredArray,
    Lenient,
    LenientArray,
    NullableMap,
    Omissible,
    Uint32,
)
from acp_server.protocol.prompt_turn import PromptRequest
from acp_server.protocol.sessions import NewSessionResponse, SessionRequest

ACTIVE_FILE_METHOD = "_hermes/active_file"
DIAGNOSTICS_METHOD = "_hermes/diagnostics"
CANCEL_TASK_METHOD = "_hermes/cancel_task"
RESTORE_METHOD = "_hermes/restore"
MCP_MESSAGE_METHOD = "mcp/message"
SYMBOLS_METHOD = "_hermes/symbols"
STEERING_METHOD = "_session/steering"
MCP_SERVERS_METHOD = "_hermes/mcp_servers"
RESTART_MCP_SERVER_METHOD = "_hermes/restart_mcp_server"
PERMISSION_RULES_METHOD = "_hermes/permission_rules"
FORGET_PERMISSION_RULE_METHOD = "_hermes/forget_permission_rule"
PROMPT_REQUIRED = "promptRequired"
HEADLESS_CLIENT = "acp-server-headless"
"""The default `clientInfo.name` of our own headless client."""


class ActiveFileNotification(ExtensibleModel):
    """`_hermes/active_file`: the file open in the editor, as an absolute path, and the line."""

    session_id: SessionId
    path: str
    line: Lenient[Uint32] = None


DiagnosticSeverity: TypeAlias = Literal["error", "warning", "info", "hint"]


class Diagnostic(ExtensibleModel):
    """An editor diagnostic; lines are counted from 1."""

    severity: Annotated[DiagnosticSeverity, DefaultOnError("error")] = "error"
    message: str
    line: Uint32
    end_line: Lenient[Uint32] = None
    source: Lenient[str] = None
    code: Lenient[str | int] = None


class DiagnosticsNotification(ExtensibleModel):
    """`_hermes/diagnostics`: all diagnostics of a file; they replace the previous ones."""

    session_id: SessionId
    path: str
    items: FilteredArray[Diagnostic] = ()


class CancelTaskNotification(ExtensibleModel):
    """`_hermes/cancel_task`: cancel one sub-agent task of a tool call; the others continue."""

    session_id: SessionId
    tool_call_id: ToolCallId
    """The tool call that delegated the task."""
    task: Uint32
    """The task's number, from 1."""


class RestoreRequest(ExtensibleModel):
    """`_hermes/restore`: restore the state before a prompt of a session, or before a restore.

    Not during a turn. The checkpoint is named in `_meta.hermes.checkpoint` of the user message and
    of the response to its prompt.
    """

    session_id: SessionId
    checkpoint: str
    scope: Literal["files", "conversation", "both"]


class RemainingFile(ExtensibleModel):
    """A file that was not restored."""

    path: str
    reason: str


class RestoreResponse(ExtensibleModel):
    """The files that were restored and those that were not, as absolute paths.

    `_meta.hermes.checkpoint` is the checkpoint that undoes the restore.
    """

    restored: tuple[str, ...] = ()
    left: tuple[RemainingFile, ...] = ()


class McpServersRequest(ExtensibleModel):
    """`_hermes/mcp_servers`: list the MCP servers of a session, as `/mcp` does."""

    session_id: SessionId


class McpToolInfo(ExtensibleModel):
    """A tool of an MCP server, by the server's own name."""

    name: str
    description: str


class McpServerInfo(ExtensibleModel):
    """An MCP server of a session; no text contains a secret."""

    name: str
    address: str
    """How it is reached, such as a program's name or a host."""
    state: Literal[
        "connecting", "connected", "reconnecting", "signed_out", "failed", "closed", "withheld"
    ]
    """`signed_out` waits for the user to sign in; `withheld` was not agreed to."""
    problem: str = ""
    signed_in: bool = False
    tools: Array[McpToolInfo] = ()
    output: Array[str] = ()
    """The last lines that its process wrote beside its messages."""


class McpServersResponse(ExtensibleModel):
    """The servers, in the order of their configuration."""

    servers: Array[McpServerInfo]


class RestartMcpServerRequest(ExtensibleModel):
    """`_hermes/restart_mcp_server`: connect a server anew; a local program is started again."""

    session_id: SessionId
    name: str


class RestartMcpServerResponse(ExtensibleModel):
    """The server connects in the background."""


class PermissionRulesRequest(ExtensibleModel):
    """`_hermes/permission_rules`: list the "always" answers that hold in a session."""

    session_id: SessionId


class PermissionRuleInfo(ExtensibleModel):
    """One "always" answer, or a part of one that can be forgotten alone."""

    id: str
    text: str
    """What it covers, in one line."""
    allowed: bool
    """Whether it allows; otherwise it rejects."""
    saved: bool
    """Whether it holds in later sessions of the workspace, too."""


class PermissionRulesResponse(ExtensibleModel):
    """The rules."""

    rules: Array[PermissionRuleInfo]


class ForgetPermissionRuleRequest(ExtensibleModel):
    """`_hermes/forget_permission_rule`: ask again about what a rule covers, in all sessions."""

    session_id: SessionId
    id: str


class ForgetPermissionRuleResponse(ExtensibleModel):
    """The rule is forgotten, or was not there."""


class SymbolsRequest(ExtensibleModel):
    """`_hermes/symbols`, to the client: ask the editor's language features.

    Without a path, the name is looked up in the workspace. A qualified name is separated by `.`,
    `::`, `#` or `->`, as the user of the name writes it.
    """

    session_id: SessionId
    action: Literal["outline", "definition", "references", "rename"]
    path: Lenient[str] = None
    name: Lenient[str] = None
    new_name: Lenient[str] = None


class SymbolPlace(ExtensibleModel):
    """A symbol and the lines of its definition, from 1."""

    name: str
    kind: str = "symbol"
    containers: LenientArray[str] = ()
    path: str
    line: Uint32
    end_line: Uint32
    name_line: Uint32


class TextPlace(ExtensibleModel):
    """A range of a file: lines from 1, columns from 0 in UTF-16 units."""

    path: str
    line: Uint32
    column: Uint32
    end_line: Uint32
    end_column: Uint32
    new_text: Lenient[str] = None
    """What replaces the range, in `edits`."""


class SymbolsResponse(ExtensibleModel):
    """The answer; without any of its fields, the editor has no language features for that."""

    symbols: LenientArray[SymbolPlace] = ()
    places: LenientArray[TextPlace] = ()
    edits: LenientArray[TextPlace] = ()


class SetSessionTitleRequest(ExtensibleModel):
    """`session/set_title` (draft): name a session, open or not."""

    session_id: SessionId
    title: str


class SetSessionTitleResponse(ExtensibleModel):
    """The title as it was stored."""

    title: str


class AuthStatusRequest(ExtensibleModel):
    """`auth/status` (draft): ask whether the user must sign in, without signing in."""


class AuthAccount(ExtensibleModel):
    """A credential, for display."""

    label: str
    active: Lenient[bool] = None


class AuthStatusResponse(ExtensibleModel):
    """Whether the user must sign in, and the credentials in use."""

    state: Literal["authenticated", "unauthenticated", "not_required", "unknown"]
    accounts: Annotated[Array[AuthAccount], UNLESS_EMPTY] = ()


class ListProvidersRequest(ExtensibleModel):
    """`providers/list` (draft): list the model providers that the client may route."""


class ProviderRouting(ExtensibleModel):
    """Where the requests to a provider go, without secrets."""

    api_type: str
    base_url: str


class ProviderInfo(ExtensibleModel):
    """A provider; without `current` it is disabled."""

    provider_id: str
    supported: Array[str]
    required: bool
    current: Omissible[ProviderRouting] = None


class ListProvidersResponse(ExtensibleModel):
    """All providers that the client may route."""

    providers: Array[ProviderInfo]


class SetProviderRequest(ExtensibleModel):
    """`providers/set` (draft): replace a provider's address and headers, which may be secret."""

    provider_id: str
    api_type: str
    base_url: str
    headers: NullableMap[str] = Field(default_factory=dict[str, str], repr=False)


class SetProviderResponse(ExtensibleModel):
    """The provider's requests go to the new address from now on."""


class DisableProviderRequest(ExtensibleModel):
    """`providers/disable` (draft): send this provider no more requests."""

    provider_id: str


class DisableProviderResponse(ExtensibleModel):
    """The provider is disabled, or unknown."""


class ForkSessionRequest(SessionRequest):
    """`session/fork` (draft): start a session with a copy of another one's conversation."""

    session_id: SessionId


class ForkSessionResponse(NewSessionResponse):
    """The new session."""


class SteeringRequest(PromptRequest):
    """`_session/steering`: send a message to a session, also during a turn.

    With `_meta.steering.idleBehavior` = `promptRequired` it never starts a turn.
    """

    @property
    def can_start_turn(self) -> bool:
        """Whether it starts a turn if the session is idle."""
        steering = (self.meta or {}).get("steering")
        is_required = isinstance(steering, dict) and steering.get("idleBehavior") == PROMPT_REQUIRED
        return not is_required


class SteeringResponse(ExtensibleModel):
    """Whether the message was added to a running turn or started a new one."""

    outcome: Literal["injected", "startedNewTurn", "failed"]


# MCP over ACP (draft).


class MessageMcpRequest(ExtensibleModel):
    """`mcp/message`: an MCP request to a server that the client provides."""

    server_id: str
    request_id: str
    method: str
    params: Omissible[dict[str, JsonValue]] = None


class MessageMcpNotification(MessageMcpRequest):
    """`mcp/message`: a notification of such a server that belongs to a request."""
