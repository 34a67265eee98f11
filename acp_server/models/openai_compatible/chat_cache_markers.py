"""Cache breakpoints in chat messages, for models that cache a prompt only up to a marker.

OpenRouter forwards the markers of Claude messages to the model's provider; without them no part of
the prompt is read from the cache. Only a text part can carry a marker. Every text becomes a part,
even without a marker, because a message must be serialized identically in each request.
Source: https://openrouter.ai/docs/features/prompt-caching
"""

from collections.abc import Sequence
from typing import cast

from pydantic import JsonValue

from acp_server.models.cache_markers import Block, CacheMarker


def add_cache_markers(messages: Sequence[Block], add_markers: CacheMarker) -> list[Block]:
    """Return chat messages with cache breakpoints added."""
    normalized = [_with_text_parts(message) for message in messages]
    has_system = bool(normalized) and normalized[0]["role"] in ("system", "developer")
    head, rest = normalized[:has_system], normalized[has_system:]
    system = cast("list[Block]", head[0]["content"]) if head else []
    system, marked = add_markers(system, [_drop_unmarkable_content(message) for message in rest])
    merged = [old if new["content"] is None else new for old, new in zip(rest, marked, strict=True)]
    return [*({**message, "content": [*system]} for message in head), *merged]


def _with_text_parts(message: Block) -> Block:
    """Return a message with its text as a part; replies carry no marker and stay unchanged."""
    content = message["content"]
    if message["role"] == "assistant" or not isinstance(content, str):
        return message
    part: JsonValue = {"type": "text", "text": content}
    return {**message, "content": [part]}


def _drop_unmarkable_content(message: Block) -> Block:
    """Return the message; without content if the content does not end in a text part."""
    content = message["content"]
    last = content[-1] if isinstance(content, list) and content else None
    is_text = isinstance(last, dict) and last["type"] == "text"
    return message if is_text else {**message, "content": None}
