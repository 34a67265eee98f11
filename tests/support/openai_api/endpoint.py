"""How a server behaves apart from its script: form, keys, models, and the oddities of others."""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import JsonValue

KEY = "test-key"
"""The key that is accepted unless a test says otherwise."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A model that the server has."""

    id: str
    reasons: bool = False
    sees: bool = True
    extra: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What the list says of it besides."""


MODELS = (Listed("gpt-5.1", reasons=True), Listed("gpt-4.1"), Listed("text-embedding-3-small"))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The settings of a server."""

    form: Literal["chat", "responses"] = "chat"
    keys: frozenset[str] | None = frozenset({KEY})
    """None for a server that asks for none."""
    models: tuple[Listed, ...] = MODELS
    root: str = ""
    """What its paths have before `/v1`."""
    body_limit_bytes: int = 32 * 1024 * 1024
    refused_fields: frozenset[str] = frozenset()
    """Fields of the body that an older server does not know."""
    takes_developer: bool = True
    takes_marks: bool = False
    """Whether parts may have `cache_control`."""
    takes_parallel_calls: bool = True
    """Whether a template can write more than one call of a reply; fails with 500 otherwise."""
    wants_reasoning: bool = False
    """Whether calls must come back with `reasoning_content`."""
    seals_calls: bool = False
    """Whether calls have a seal in `extra_content` that must come back with them."""
    reasoning_field: str | None = "reasoning_content"
    """Where reasoning is written in a chat; None for `<think>` in the text."""
    takes_reasoning: bool = True
    """Whether reasoning may come back in the field that it was written in."""
    gives_ids: bool = True
    gives_indexes: bool = True
    arguments: Literal["pieces", "whole", "object"] = "pieces"
    usage: Literal["last", "never", "always", "zero"] = "last"
    finish: dict[str, str | None] = field(default_factory=dict[str, str | None])
    """Other words for the ends of an answer, by OpenAI's own."""
    says_done: bool = True
    streams: bool = True
    """Whether an answer comes as a stream, whatever was asked for."""
