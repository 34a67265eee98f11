"""Configuration of the fake OpenAI server: API form, keys, models, deviations of other servers."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

KEY = "test-key"
"""API key that the server accepts by default."""


@dataclass(frozen=True, slots=True)
class ServedModel:
    """Model that the server offers."""

    id: str
    can_reason: bool = False
    accepts_images: bool = True
    extra: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Additional fields in the model list."""


MODELS = (
    ServedModel("gpt-5.1", can_reason=True),
    ServedModel("gpt-4.1"),
    ServedModel("text-embedding-3-small"),
)


@dataclass(frozen=True, slots=True)
class OpenAiServerConfig:
    """Behaviour of a server apart from its script."""

    form: Literal["chat", "responses"] = "chat"
    keys: frozenset[str] | None = frozenset({KEY})
    """None for a server that refuses requests with a key."""
    models: tuple[ServedModel, ...] = MODELS
    root: str = ""
    """Path prefix before `/v1`."""
    body_limit_bytes: int = 32 * 1024 * 1024
    refused_fields: frozenset[str] = frozenset()
    """Body fields that are refused, as by an older server."""
    accepts_developer_role: bool = True
    accepts_cache_control: bool = False
    """Whether content parts may have `cache_control`."""
    accepts_parallel_calls: bool = True
    """Whether a message may have several tool calls; otherwise the answer is a 500, as when a chat
    template cannot render them."""
    requires_reasoning: bool = False
    """Whether assistant messages with tool calls must have `reasoning_content`."""
    signs_calls: bool = False
    """Whether tool calls carry a signature in `extra_content` that requests must return."""
    reasoning_field: str | None = "reasoning_content"
    """Field of reasoning in chat messages; None for `<think>` in the text."""
    accepts_reasoning: bool = True
    """Whether requests may return reasoning in `reasoning_field`."""
    sends_call_ids: bool = True
    sends_call_indexes: bool = True
    arguments: Literal["pieces", "whole", "object"] = "pieces"
    usage: Literal["last", "never", "always", "zero"] = "last"
    finish_reasons: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Replacements for OpenAI's finish reasons, by the original."""
    sends_done: bool = True
    streams: bool = True
    """False for a server that ignores `stream` and always answers in one piece."""
    context_window: int | None = None
    """Context window of every model, with tokens counted as `support/token_count.py` says. A chat
    request's prompt and limit of the answer must fit together, a response's input alone. None
    for no window and constant usage."""
