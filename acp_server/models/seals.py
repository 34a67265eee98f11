"""Our own seals on reasoning: whose it is, and what it takes to send it back there.

A provider's own seal (the Messages API has one) is opaque text and never a JSON object; ours is
one. So each adapter tells what it may send back from what another left in the conversation.
"""

import json
from dataclasses import asdict, field

from pydantic import JsonValue, TypeAdapter, ValidationError

from acp_server.frozen import frozen


@frozen
class Seal:
    """Whose a piece of reasoning is: the form, the endpoint and the model that it came from."""

    form: str
    endpoint: str
    model: str
    content: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the form needs to send it back."""

    def written(self) -> str:
        """Return the seal as it is kept with the conversation."""
        return json.dumps(asdict(self), separators=(",", ":"))

    def with_content(self, **content: JsonValue) -> "Seal":
        """Return the seal of the same model around something."""
        return Seal(self.form, self.endpoint, self.model, content)

    def content_of(self, written: str) -> dict[str, JsonValue] | None:
        """Return what a kept seal holds if it is of the same model; else None."""
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
    """Whether a seal was written here, and not by a provider."""
    return written.startswith("{")
