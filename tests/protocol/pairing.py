"""The published definitions and our types side by side: they are paired by their names.

What has no pair, or is not exactly alike, is listed here and nowhere else, with a reason.
"""

from functools import cache
from typing import Literal, TypeAlias, cast, get_args, get_origin

from pydantic import TypeAdapter

from acp_server.protocol import (
    content,
    elicitation,
    files,
    greeting,
    identifiers,
    lifecycle,
    prompting,
    sessions,
    terminals,
    tool_calls,
    updates,
)
from acp_server.protocol.model import WireModel
from tests.support.published_schema import Shape, definitions, shapes

MODULES = (
    content,
    elicitation,
    files,
    identifiers,
    greeting,
    lifecycle,
    prompting,
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
"""Definitions of JSON-RPC around the messages, which is `acp_server.jsonrpc`'s, and of anything."""

PARTS: dict[str, object] = {
    "ElicitationAcceptAction": elicitation.CreateElicitationResponse,
    "ElicitationFormMode": elicitation.SessionForm | elicitation.RequestForm,
    "ElicitationUrlMode": elicitation.SessionUrl | elicitation.RequestUrl,
    "SessionConfigBoolean": sessions.SessionConfigBoolean,
    "SessionConfigSelect": sessions.SessionConfigSelect,
}
"""Definitions that hold some properties of an object; the models hold all of them."""

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
"""Types of ours that the schema writes out where it uses them, without a name."""

SHARED = {
    "AdditionalDirectories",
    "ConfigOption",
    "KnownPropertySchema",
    "McpServers",
    "PropertySchema",
    "SessionSetup",
    "TerminalRequest",
}
"""Types of ours for what several definitions have in common."""

UNSPOKEN = {"CreateElicitationRequest": 4}
"""Definitions of which only the first shapes have models: an agent sends the modes it knows."""

DEVIATIONS = {
    ("NewSessionRequest", "mcpServers"): "one bad server must not cost the user the session",
    ("LoadSessionRequest", "mcpServers"): "one bad server must not cost the user the session",
    ("ResumeSessionRequest", "mcpServers"): "one bad server must not cost the user the session",
    ("NewSessionRequest", "additionalDirectories"): "an empty path is an error, never ignored",
    ("LoadSessionRequest", "additionalDirectories"): "an empty path is an error, never ignored",
    ("ResumeSessionRequest", "additionalDirectories"): "an empty path is an error, never ignored",
    ("CreateElicitationRequest", "mode"): "never read by an agent; each model supplies its own",
}
"""Properties that are read otherwise than the schema says; `test_requests` says how."""


@cache
def our_names() -> dict[str, object]:
    """Every type that the protocol's modules define, by its name."""
    found: dict[str, object] = {}
    for module in MODULES:
        aliases = [name for name, kind in module.__annotations__.items() if kind is TypeAlias]
        classes = [
            name
            for name, value in vars(module).items()
            if isinstance(value, type) and value.__module__ == module.__name__
        ]
        found |= {name: getattr(module, name) for name in aliases + classes}
    return found


PAIRED = sorted((our_names().keys() | PARTS) - VARIANTS - SHARED)
"""The definitions that we have a type for."""

WHOLE = [name for name in PAIRED if name not in PARTS]
"""Those of them that say all there is to say about a value."""


def our_type(definition: str) -> object:
    """What we have for a definition: a model, a union of models, or something smaller."""
    return PARTS.get(definition) or our_names()[definition]


@cache
def adapter(definition: str) -> TypeAdapter[object]:
    """What reads and writes any value of our type."""
    return TypeAdapter(cast("type[object]", our_type(definition)))


def our_models(kind: object) -> list[type[WireModel]]:
    """The models that a value of a type may be, in order."""
    if isinstance(kind, type) and issubclass(kind, WireModel):
        return [kind]
    if get_origin(kind) in {tuple, dict, Literal}:
        return []
    return [model for part in get_args(kind) for model in our_models(part)]


def spoken_shapes(definition: str) -> list[Shape]:
    """The shapes of a definition that we have models for."""
    return shapes(definitions()[definition])[: UNSPOKEN.get(definition)]


@cache
def paired_shapes() -> list[tuple[str, Shape, type[WireModel]]]:
    """Every shape with its definition's name and its model; several may have the same model."""
    pairs: list[tuple[str, Shape, type[WireModel]]] = []
    for name in PAIRED:
        models, found = our_models(our_type(name)), spoken_shapes(name)
        if len(models) == 1:
            models *= len(found)
        pairs.extend((name, *pair) for pair in zip(found, models, strict=True))
    return pairs
