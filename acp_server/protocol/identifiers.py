"""The opaque identifiers that messages refer to things by.

Whoever creates the thing chooses the identifier; nobody else reads anything into it.
"""

from typing import TypeAlias

from acp_server.protocol.model import Int64

RequestId: TypeAlias = Int64 | str | None
"""A JSON-RPC request, by the id its sender gave it; 1 and "1" are two requests."""

SessionId: TypeAlias = str
SessionModeId: TypeAlias = str
SessionConfigId: TypeAlias = str
SessionConfigValueId: TypeAlias = str
SessionConfigGroupId: TypeAlias = str
AuthMethodId: TypeAlias = str
MessageId: TypeAlias = str
CompactionId: TypeAlias = str
ToolCallId: TypeAlias = str
PermissionOptionId: TypeAlias = str
TerminalId: TypeAlias = str
ElicitationId: TypeAlias = str
