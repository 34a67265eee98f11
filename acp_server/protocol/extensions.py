"""What is beside the protocol: methods of our own, others' conventions, drafts of what comes."""

from typing import Literal

from acp_server.protocol.identifiers import SessionId
from acp_server.protocol.model import ExtensibleModel, Lenient, Uint32
from acp_server.protocol.prompting import PromptRequest
from acp_server.protocol.sessions import (
    AdditionalDirectories,
    McpServers,
    NewSessionResponse,
)

ACTIVE_FILE_METHOD = "_hermes/active_file"
STEERING_METHOD = "_session/steering"
PROMPT_REQUIRED = "promptRequired"
HEADLESS_CLIENT = "acp-server-headless"
"""What our own client says that it is, unless it plays somebody else's."""


class ActiveFileNotification(ExtensibleModel):
    """`_hermes/active_file`: the file in the user's view, as an absolute path, and its line."""

    session_id: SessionId
    path: str
    line: Lenient[Uint32] = None


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
