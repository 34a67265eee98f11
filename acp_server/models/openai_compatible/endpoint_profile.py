"""Differences between endpoints of the same API format. Data only."""

from collections.abc import Callable, Mapping
from typing import Literal

from acp_server.models.cache_markers import CacheMarker
from acp_server.startup.fast_dataclass import frozen_dataclass

OpenAiFormat = Literal["chat", "responses"]
Role = Literal["system", "developer"]


@frozen_dataclass
class EndpointProfile:
    """Known properties of an endpoint; further ones are learned from its error messages.

    Attributes:
        api_format: The API format.
        sign_in_hint: Advice for the user when the endpoint rejects the key.
        system_role: Returns the role of the system message for a model id.
        effort: How a thought level is sent: `reasoning_effort`, `effort` within `reasoning`, or
            not at all.
        requires_reasoning: Whether it rejects calls sent back without the reasoning before them.
        signs_calls: Whether it signs each call and rejects one sent back without its signature.
        allows_parallel_calls: Whether a reply may contain more than one call.
        cache_marked_models: Id prefixes of the models whose cache needs breakpoints.
        cache_marker: Places the breakpoints.
        max_output_tokens: The `max_tokens` to request; None uses the endpoint's default.
    """

    api_format: OpenAiFormat = "chat"
    sign_in_hint: str = "run `acp-server setup` to store another key"
    system_role: Callable[[str], Role] = lambda _: "system"
    effort: Literal["field", "object", "none"] = "field"
    requires_reasoning: bool = False
    signs_calls: bool = False
    allows_parallel_calls: bool = True
    cache_marked_models: tuple[str, ...] = ()
    cache_marker: CacheMarker | None = None
    max_output_tokens: int | None = None


NO_DEVELOPER = "developer"
NO_USAGE = "stream_options"
NO_IMAGES = "images"
NO_FILES = "files"
NO_REASONING = "reasoning sent back"
WITH_REASONING = "reasoning wanted back"
EFFORT_NONE = "effort none"
NO_EFFORT = "effort"
NO_REASONING_SUMMARY = "summary"
NO_LIMIT = "limit"
ONE_CALL = "one call"
NO_PARALLEL_FIELD = "parallel_tool_calls"
NO_CACHE_MARKERS = "cache_control"
NO_ENCRYPTED_REASONING = "encrypted"
NO_STORE = "store"
NO_STRICT = "strict"

_MEDIA_REJECTIONS: Mapping[str, str] = {
    "image_url": NO_IMAGES,
    "input_image": NO_IMAGES,
    "image input": NO_IMAGES,
    "support image": NO_IMAGES,
    "vision": NO_IMAGES,
    "multimodal": NO_IMAGES,
    "mmproj": NO_IMAGES,
    "file_data": NO_FILES,
    "input_file": NO_FILES,
    "'file'": NO_FILES,
}

CHAT_REJECTIONS: Mapping[str, str] = {
    "cache_control": NO_CACHE_MARKERS,
    "single tool-call": ONE_CALL,
    "parallel tool calls": ONE_CALL,
    "parallel_tool_calls": NO_PARALLEL_FIELD,
    "stream_options": NO_USAGE,
    "include_usage": NO_USAGE,
    "reasoning_effort to 'none'": EFFORT_NONE,
    "reasoning_effort": NO_EFFORT,
    "Missing `reasoning_content`": WITH_REASONING,
    "reasoning_content is missing": WITH_REASONING,
    "reasoning_content must be": WITH_REASONING,
    "reasoning_details": NO_REASONING,
    "reasoning_content": NO_REASONING,
    "does not support thinking": NO_EFFORT,
    "reasoning": NO_EFFORT,
    "max_completion_tokens": NO_LIMIT,
    "max_tokens": NO_LIMIT,
    "developer": NO_DEVELOPER,
    **_MEDIA_REJECTIONS,
}
"""Phrases in error messages of chat completions, and the feature to change; first match wins."""

RESPONSES_REJECTIONS: Mapping[str, str] = {
    "reasoning.summary": NO_REASONING_SUMMARY,
    "reasoning summaries": NO_REASONING_SUMMARY,
    "encrypted": NO_ENCRYPTED_REASONING,
    "include": NO_ENCRYPTED_REASONING,
    "reasoning": NO_EFFORT,
    "max_output_tokens": NO_LIMIT,
    "store": NO_STORE,
    "strict": NO_STRICT,
    **_MEDIA_REJECTIONS,
}
"""The same for the Responses API."""
