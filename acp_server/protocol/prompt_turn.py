"""Prompt turns: the prompt, its stop reason, and the two kinds of cancellation."""

from typing import Literal, TypeAlias

from acp_server.protocol.content import ContentBlock
from acp_server.protocol.identifiers import RequestId, SessionId
from acp_server.protocol.model import Array, ExtensibleModel, Lenient, Omissible, Uint64

StopReason: TypeAlias = Literal[
    "end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"
]


class PromptRequest(ExtensibleModel):
    """`session/prompt`: a user prompt; a block of an unknown type is an error."""

    session_id: SessionId
    prompt: Array[ContentBlock]


class PromptUsage(ExtensibleModel):
    """Tokens of a turn (draft); `input_tokens` without those read from a cache or written to it."""

    total_tokens: Uint64
    input_tokens: Uint64
    output_tokens: Uint64
    cached_read_tokens: Omissible[Uint64] = None
    cached_write_tokens: Omissible[Uint64] = None


class PromptResponse(ExtensibleModel):
    """End of the turn and its stop reason; all its updates were sent before."""

    stop_reason: StopReason
    usage: Lenient[PromptUsage] = None
    """Sent only to clients that support drafts."""


class CancelNotification(ExtensibleModel):
    """`session/cancel`: cancel the session's turn; `session/prompt` is still answered."""

    session_id: SessionId


class CancelRequestNotification(ExtensibleModel):
    """`$/cancel_request`: cancel a request, in either direction; it is still answered."""

    request_id: RequestId
