"""Pairs the published schema definitions with our types by name.

Definitions without a pair, and types that deviate, are listed here with the reason.
"""

from functools import cache
from typing import Literal, TypeAlias, cast, get_args, get_origin

from pydantic import TypeAdapter

from acp_server.protocol import (
    content,
    elicitation,
    files,
    identifiers,
    initialize_request,
    initialize_response,
    prompt_turn,
    sessions,
    terminals,
    tool_calls,
    updates,
)
from acp_server.protocol.model import WireModel
from tests.support.published_schema import ObjectShape, definitions, shapes

MODULES = (
    content,
    elicitation,
    files,
    identifiers,
    initialize_response,
    initialize_request,
    prompt_turn,
    sessions,
    terminals,
    tool_calls,
    updates,
)

ENVELOPE = {
    "AgentNotification",
    "AgentRequest",
    "AgentResponse",
    "ClientNotification",
    "ClientRequest",
    "ClientResponse",
    "Error",
    "ErrorCode",
    "ExtNotification",
    "ExtRequest",
    "ExtResponse",
}
"""Definitions of the JSON-RPC envelope, handled by `acp_server.jsonrpc`, and of any value."""

PARTS: dict[str, object] = {
    "ElicitationAcceptAction": elicitation.CreateElicitationResponse,
    "ElicitationFormMode": elicitation.SessionForm | elicitation.RequestForm,
    "ElicitationUrlMode": elicitation.SessionUrl | elicitation.RequestUrl,
    "SessionConfigBoolean": sessions.SessionConfigBoolean,
    "SessionConfigSelect": sessions.SessionConfigSelect,
}
"""Definitions with some properties of an object; the models have all of them."""

VARIANTS = {
    "AgentMessageChunk",
    "AgentThoughtChunk",
    "CancelledPermissionOutcome",
    "ElicitationAction",
    "OtherMultiSelectItems",
    "OtherPropertySchema",
    "RequestForm",
    "RequestUrl",
    "SessionForm",
    "SessionUrl",
    "ToolCallProgress",
    "ToolCallStart",
    "UserMessageChunk",
}
"""Our names for types that the schema defines inline without a name."""

SHARED = {
    "AdditionalDirectories",
    "ConfigOption",
    "KnownPropertySchema",
    "McpServers",
    "PropertySchema",
    "SessionRequest",
    "SessionSetup",
    "TerminalRequest",
}
"""Our base types for properties that several definitions share."""

DRAFTS = {
    "ClientSystemPrompt",
    "ChildCancelCapabilities",
    "ChildCapabilities",
    "ChildError",
    "ChildState",
    "DraftNotification",
    "DraftUpdate",
    "McpServerAcp",
    "PlanCapabilities",
    "PlanItems",
    "PlanRemoved",
    "PlanUpdate",
    "PromptUsage",
    "RequestedMcpServer",
    "SessionMessage",
    "SubAgentCapabilities",
    "SubAgentUpdate",
}
"""Our types for drafts of the protocol, which the published schema does not have yet."""

DRAFT_PROPERTIES = {
    ("ClientCapabilities", "plan"),
    ("ClientCapabilities", "subagents"),
    ("LoadSessionRequest", "systemPrompt"),
    ("NewSessionRequest", "systemPrompt"),
    ("PromptResponse", "usage"),
    ("ResumeSessionRequest", "systemPrompt"),
}
"""Likewise, properties of published definitions."""

PARTIAL_UNIONS = {"CreateElicitationRequest": 4}
"""Unions of which only the first shapes have models: an agent sends only modes it knows."""

DEVIATIONS = {
    ("NewSessionRequest", "mcpServers"): "one bad server must not cost the user the session",
    ("LoadSessionRequest", "mcpServers"): "one bad server must not cost the user the session",
    ("ResumeSessionRequest", "mcpServers"): "one bad server must not cost the user the session",
    ("NewSessionRequest", "additionalDirectories"): "an empty path is an error, never ignored",
    ("LoadSessionRequest", "additionalDirectories"): "an empty path is an error, never ignored",
    ("ResumeSessionRequest", "additionalDirectories"): "an empty path is an error, never ignored",
    ("CreateElicitationRequest", "mode"): "never read by an agent; each model supplies its own",
}
"""Properties parsed differently from the schema; `test_requests` shows how."""


@cache
def defined_types() -> dict[str, object]:
    """Return every public type defined in the protocol modules, by name."""
    found: dict[str, object] = {}
    for module in MODULES:
        aliases = [name for name, kind in module.__annotations__.items() if kind is TypeAlias]
        classes = [
            name
            for name, value in vars(module).items()
            if isinstance(value, type)
            and value.__module__ == module.__name__
            and not name.startswith("_")
        ]
        found |= {name: getattr(module, name) for name in aliases + classes}
    return found


PAIRED = sorted((defined_types().keys() | PARTS) - VARIANTS - SHARED - DRAFTS)
"""Definitions that have a type."""

COMPLETE = [name for name in PAIRED if name not in PARTS]
"""Paired definitions that describe a value completely."""


def type_of(definition: str) -> object:
    """Return the type for a definition: a model, a union of models, or a simple type."""
    return PARTS.get(definition) or defined_types()[definition]


@cache
def adapter(definition: str) -> TypeAdapter[object]:
    """Return a pydantic adapter for the type of a definition."""
    return TypeAdapter(cast("type[object]", type_of(definition)))


def models_of(kind: object) -> list[type[WireModel]]:
    """Return the possible models of a type's values, in order."""
    if isinstance(kind, type) and issubclass(kind, WireModel):
        return [kind]
    if get_origin(kind) in {tuple, dict, Literal}:
        return []
    return [model for part in get_args(kind) for model in models_of(part)]


def modelled_shapes(definition: str) -> list[ObjectShape]:
    """Return the shapes of a definition that have models."""
    return shapes(definitions()[definition])[: PARTIAL_UNIONS.get(definition)]


@cache
def paired_shapes() -> list[tuple[str, ObjectShape, type[WireModel]]]:
    """Return each shape with its definition's name and its model; models may repeat."""
    pairs: list[tuple[str, ObjectShape, type[WireModel]]] = []
    for name in PAIRED:
        models, found = models_of(type_of(name)), modelled_shapes(name)
        if len(models) == 1:
            models *= len(found)
        pairs.extend((name, *pair) for pair in zip(found, models, strict=True))
    return pairs
