"""Configuration of the fake OpenAI server: API form, keys, models, deviations of other servers."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

KEY = "test-key"
"""API key that the server accepts by default."""


@dataclass(frozen=True, slots=True)
class Listed:
    """Model that the server offers."""

    id: str
    reasons: bool = False
    sees: bool = True
    extra: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Additional fields in the model list."""


MODELS = (Listed("gpt-5.1", reasons=True), Listed("gpt-4.1"), Listed("text-embedding-3-small"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Behaviour of a server apart from its script."""

    form: Literal["chat", "responses"] = "chat"
    keys: frozenset[str] | None = frozenset({KEY})
    """None for a server that refuses requests with a key."""
    models: tuple[Listed, ...] = MODELS
    root: str = ""
    """Path prefix before `/v1`."""
    body_limit_bytes: int = 32 * 1024 * 1024
    refused_fields: frozenset[str] = frozenset()
    """Body fields that are refused, as by an older server."""
    takes_developer: bool = True
    takes_marks: bool = False
    """Whether content parts may have `cache_control`."""
    takes_parallel_calls: bool = True
    """Whether a message may have several tool calls; otherwise the answer is a 500, as when a chat
    template cannot render them."""
    wants_reasoning: bool = False
    """Whether assistant messages with tool calls must have `reasoning_content`."""
    seals_calls: bool = False
    """Whether tool calls carry a signature in `extra_content` that requests must return."""
    reasoning_field: str | None = "reasoning_content"
    """Field of reasoning in chat messages; None for `<think>` in the text."""
    takes_reasoning: bool = True
    """Whether requests may return reasoning in `reasoning_field`."""
    gives_ids: bool = True
    gives_indexes: bool = True
    arguments: Literal["pieces", "whole", "object"] = "pieces"
    usage: Literal["last", "never", "always", "zero"] = "last"
    finish: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Replacements for OpenAI's finish reasons, by the original."""
    says_done: bool = True
    streams: bool = True
    """False for a server that ignores `stream` and always answers in one piece."""
