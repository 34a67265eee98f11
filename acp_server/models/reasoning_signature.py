"""Signatures that bind reasoning to the model that produced it.

Reasoning may be sent back only to its own model. A provider's signature (the Messages API has one)
is opaque text and never a JSON object; a signature of this server is a JSON object. Each adapter
can therefore tell its own reasoning from another adapter's in the same conversation.
"""

import json
from dataclasses import asdict, field
from functools import cache

from pydantic import JsonValue, TypeAdapter, ValidationError

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class ReasoningSignature:
    """Origin of a piece of reasoning (API format, endpoint, model) and the data to send it back."""

    form: str
    endpoint: str
    model: str
    content: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The fields that the API format needs to send the reasoning back."""

    def serialize(self) -> str:
        """Return the signature as JSON text, as the conversation stores it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def with_content(self, **content: JsonValue) -> "ReasoningSignature":
        """Return a signature of the same model with other content."""
        return ReasoningSignature(self.form, self.endpoint, self.model, content)

    def content_if_same_model(self, serialized: str) -> dict[str, JsonValue] | None:
        """Return the content of a stored signature if it is of the same model; else None."""
        if not is_own_signature(serialized):
            return None
        try:
            kept = _signature_adapter().validate_json(serialized)
        except ValidationError:
            return None
        is_same = (kept.form, kept.endpoint, kept.model) == (self.form, self.endpoint, self.model)
        return kept.content if is_same else None


@cache
def _signature_adapter() -> TypeAdapter[ReasoningSignature]:
    # Built at first use: every adapter imports this, and few conversations change their model.
    return TypeAdapter(ReasoningSignature)


def is_own_signature(signature: str) -> bool:
    """Return whether this server, and not a provider, wrote a signature."""
    return signature.startswith("{")
