"""Differences between endpoints of the same API format. Data only."""

from collections.abc import Callable
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


# Features that an endpoint may reject; `rejections.toml` has the phrases that say so.
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
COMPLETION_LIMIT = "limit of the completion"
ONE_CALL = "one call"
NO_PARALLEL_FIELD = "parallel_tool_calls"
NO_CACHE_MARKERS = "cache_control"
NO_ENCRYPTED_REASONING = "encrypted"
NO_STORE = "store"
NO_STRICT = "strict"
