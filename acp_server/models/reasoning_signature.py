"""Signatures that bind reasoning to the model that produced it.

Reasoning may be sent back only to its own model. A provider's signature (the Messages API has one)
is opaque text and never a JSON object; a signature of this server is a JSON object. Each adapter
can therefore tell its own reasoning from another adapter's in the same conversation.
"""

import json
from dataclasses import asdict, field

from pydantic import JsonValue, TypeAdapter, ValidationError

from acp_server.startup.fast_dataclass import frozen


@frozen
class Seal:
    """Origin of a piece of reasoning (API format, endpoint, model) and the data to send it back."""

    form: str
    endpoint: str
    model: str
    content: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """The fields that the API format needs to send the reasoning back."""

    def written(self) -> str:
        """Return the signature as JSON text, as the conversation stores it."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def with_content(self, **content: JsonValue) -> "Seal":
        """Return a signature of the same model with other content."""
        return Seal(self.form, self.endpoint, self.model, content)

    def content_of(self, written: str) -> dict[str, JsonValue] | None:
        """Return the content of a stored signature if it is of the same model; else None."""
        if not is_ours(written):
            return None
        try:
            kept = _SEAL.validate_json(written)
        except ValidationError:
            return None
        is_same = (kept.form, kept.endpoint, kept.model) == (self.form, self.endpoint, self.model)
        return kept.content if is_same else None


_SEAL = TypeAdapter(Seal)


def is_ours(written: str) -> bool:
    """Return whether this server, and not a provider, wrote a signature."""
    return written.startswith("{")
