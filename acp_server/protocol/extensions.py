"""What is beside the protocol: methods of our own, others' conventions, drafts of what comes."""

from typing import Annotated, Literal, TypeAlias

from acp_server.protocol.identifiers import SessionId, ToolCallId
from acp_server.protocol.model import ExtensibleModel, Lenient, OrElse, SiftedArray, Uint32
from acp_server.protocol.prompting import PromptRequest
from acp_server.protocol.sessions import (
    AdditionalDirectories,
    McpServers,
    NewSessionResponse,
)

ACTIVE_FILE_METHOD = "_hermes/active_file"
DIAGNOSTICS_METHOD = "_hermes/diagnostics"
CANCEL_TASK_METHOD = "_hermes/cancel_task"
STEERING_METHOD = "_session/steering"
PROMPT_REQUIRED = "promptRequired"
HEADLESS_CLIENT = "acp-server-headless"
"""What our own client says that it is, unless it plays somebody else's."""


class ActiveFileNotification(ExtensibleModel):
    """`_hermes/active_file`: the file in the user's view, as an absolute path, and its line."""

    session_id: SessionId
    path: str
    line: Lenient[Uint32] = None


DiagnosticSeverity: TypeAlias = Literal["error", "warning", "info", "hint"]


def _error() -> DiagnosticSeverity:
    return "error"


class Diagnostic(ExtensibleModel):
    """Something wrong with a file; lines are counted from 1."""

    severity: Annotated[DiagnosticSeverity, OrElse(_error)] = "error"
    message: str
    line: Uint32
    end_line: Lenient[Uint32] = None
    source: Lenient[str] = None
    code: Lenient[str | int] = None


class DiagnosticsNotification(ExtensibleModel):
    """`_hermes/diagnostics`: all that is wrong with a file, in the place of what was before."""

    session_id: SessionId
    path: str
    items: SiftedArray[Diagnostic] = ()


class CancelTaskNotification(ExtensibleModel):
    """`_hermes/cancel_task`: end one of the tasks that a call has delegated; the others go on."""

    session_id: SessionId
    tool_call_id: ToolCallId
    """The call that delegated."""
    task: Uint32
    """The task's number, from 1."""


class ForkSessionRequest(ExtensibleModel):
    """`session/fork`, a draft: begin a conversation that goes on from another one."""

    session_id: SessionId
    cwd: str
    additional_directories: AdditionalDirectories = ()
    mcp_servers: McpServers = ()


class ForkSessionResponse(NewSessionResponse):
    """The new session."""


class SteeringRequest(PromptRequest):
    """`_session/steering`: say something to a session, whatever it does just now.

    Where `_meta.steering.idleBehavior` is `promptRequired`, it begins no turn.
    """

    @property
    def may_begin_a_turn(self) -> bool:
        """Whether it is a prompt where nothing runs."""
        steering = (self.meta or {}).get("steering")
        is_required = isinstance(steering, dict) and steering.get("idleBehavior") == PROMPT_REQUIRED
        return not is_required


class SteeringResponse(ExtensibleModel):
    """Whether it became part of a turn that ran, or began one."""

    outcome: Literal["injected", "startedNewTurn", "failed"]
