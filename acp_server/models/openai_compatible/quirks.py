"""How an endpoint differs from the others that speak its form. Data only."""

from collections.abc import Callable, Mapping
from typing import Literal

from acp_server.frozen import frozen
from acp_server.models.marking import Mark

Form = Literal["chat", "responses"]
Role = Literal["system", "developer"]


def _system(model_id: str) -> Role:
    del model_id
    return "system"


@frozen
class Quirks:
    """What is known of an endpoint beforehand; the rest it says itself, by refusing it.

    Attributes:
        form: what it speaks.
        sign_in_again: what to do about a key that it refuses, for a person.
        system_role: the role that carries the system text for a model.
        effort: how a thought level is sent: `reasoning_effort`, or `effort` within `reasoning`.
        wants_reasoning: whether it refuses calls that come back without the reasoning before them.
        seals_calls: whether it seals each call, and refuses one that comes back without its seal.
        calls_in_parallel: whether a reply may hold more than one call.
        marked_models: what the ids of the models begin with whose cache wants breakpoints.
        mark: what places them.
        max_output_tokens: the longest answer to ask for; None leaves it to the endpoint.
    """

    form: Form = "chat"
    sign_in_again: str = "run `acp-server setup` to store another key"
    system_role: Callable[[str], Role] = _system
    effort: Literal["field", "object"] | None = "field"
    wants_reasoning: bool = False
    seals_calls: bool = False
    calls_in_parallel: bool = True
    marked_models: tuple[str, ...] = ()
    mark: Mark | None = None
    max_output_tokens: int | None = None


NO_DEVELOPER = "developer"
NO_USAGE = "stream_options"
NO_IMAGES = "images"
NO_FILES = "files"
NO_REASONING = "reasoning sent back"
WITH_REASONING = "reasoning wanted back"
EFFORT_NONE = "effort none"
NO_EFFORT = "effort"
NO_SUMMARY = "summary"
NO_LIMIT = "limit"
ONE_CALL = "one call"
NO_PARALLEL_FIELD = "parallel_tool_calls"
NO_MARKS = "cache_control"
NO_SEALED = "encrypted"
NO_STORE = "store"
NO_STRICT = "strict"

_PICTURES: Mapping[str, str] = {
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

CHAT_REFUSALS: Mapping[str, str] = {
    "cache_control": NO_MARKS,
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
    **_PICTURES,
}
"""What refusals of chat completions say, and what is done otherwise after them."""

RESPONSES_REFUSALS: Mapping[str, str] = {
    "reasoning.summary": NO_SUMMARY,
    "reasoning summaries": NO_SUMMARY,
    "encrypted": NO_SEALED,
    "include": NO_SEALED,
    "reasoning": NO_EFFORT,
    "max_output_tokens": NO_LIMIT,
    "store": NO_STORE,
    "strict": NO_STRICT,
    **_PICTURES,
}
"""The same of the Responses form."""
