"""The user's turn: the prompt, the word on which it ends, and the two ways to cut it short."""

from typing import Literal, TypeAlias

from acp_server.protocol.content import ContentBlock
from acp_server.protocol.identifiers import RequestId, SessionId
from acp_server.protocol.model import Array, ExtensibleModel

StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
]


class PromptRequest(ExtensibleModel):
    """`session/prompt`: what the user says; a block of an unknown type is an error."""

    session_id: SessionId
    prompt: Array[ContentBlock]


class PromptResponse(ExtensibleModel):
    """The turn is over, and why; every update of the turn has gone before."""

    stop_reason: StopReason


class CancelNotification(ExtensibleModel):
    """`session/cancel`: end the session's turn; the prompt is still answered."""

    session_id: SessionId


class CancelRequestNotification(ExtensibleModel):
    """`$/cancel_request`: end one request, in either direction; it is still answered."""

    request_id: RequestId
