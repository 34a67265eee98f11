"""Opaque identifiers. The side that creates an object chooses its id; do not parse it."""

from typing import TypeAlias

from acp_server.protocol.model import Int64

RequestId: TypeAlias = Int64 | str | None
"""The id of a JSON-RPC request, chosen by its sender; 1 and "1" are different ids."""

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
