"""Message parts that chat completions and Responses share: results, arguments, media."""

import json

from pydantic import JsonValue

from acp_server.models.cache_markers import Block
from acp_server.models.families import ModelFamily, answer_limit
from acp_server.models.openai_compatible import endpoint_profile as q
from acp_server.models.token_estimate import prompt_tokens
from acp_server.text.json_repair import load_object
from acp_server.turn.conversation import (
    Media,
    PromptPart,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    parse_arguments,
    part_to_text,
)
from acp_server.turn.ports import ModelRequest

EMPTY_TEXT = "(nothing)"
FAILED_PREFIX = "The call failed:\n"
DOCUMENT_NAME = "document.pdf"


def content_parts(
    message: UserMessage, rejected: frozenset[str], api_format: q.OpenAiFormat
) -> list[Block]:
    """Return a user message without tool results as content parts of an API format.

    The media of results come first: in both formats a tool result holds text only. Media that the
    model does not accept are replaced by a text.
    """
    parts: list[PromptPart] = []
    for part in message.parts:
        if isinstance(part, ToolResult) and part.media:
            parts += [Text(f"What the call {part.call_id} shows:"), *part.media]
    parts += [part for part in message.parts if not isinstance(part, ToolResult)]
    blocks: list[Block] = []
    for part in parts:
        if isinstance(part, Media) and _feature_of(part) not in rejected:
            blocks.append(_media_block(part, api_format))
        elif (text := part_to_text(part)).strip():
            blocks.append({"type": "text" if api_format == "chat" else "input_text", "text": text})
    return blocks


def _feature_of(media: Media) -> str:
    return q.NO_IMAGES if media.mime_type.startswith("image/") else q.NO_FILES


def _media_block(media: Media, api_format: q.OpenAiFormat) -> Block:
    address = f"data:{media.mime_type};base64,{media.data}"
    file: dict[str, JsonValue] = {"filename": DOCUMENT_NAME, "file_data": address}
    is_image = media.mime_type.startswith("image/")
    if api_format == "chat":
        if is_image:
            return {"type": "image_url", "image_url": {"url": address}}
        return {"type": "file", "file": file}
    if is_image:
        return {"type": "input_image", "image_url": address, "detail": "auto"}
    return {"type": "input_file", **file}


def result_text(result: ToolResult) -> str:
    """Return the text of a tool result; a prefix marks failure, as the formats have no flag."""
    text = result.text or EMPTY_TEXT
    return FAILED_PREFIX + text if result.is_error else text


def arguments_json(call: ToolCall) -> str:
    """Return a call's arguments unchanged if they are valid JSON.

    Otherwise they are returned as they were understood; `{}` if they were not.
    """
    try:
        arguments = parse_arguments(call)
    except ValueError:
        return "{}"
    is_mended = bool(call.arguments) and load_object(call.arguments)[1] != ""
    return json.dumps(arguments, ensure_ascii=False) if is_mended else call.arguments or "{}"


def configured_limit(request: ModelRequest, family: ModelFamily, configured: int) -> int:
    """Return the longest answer to ask for if one is configured.

    Without a limit the endpoint gives the answer what the prompt leaves.
    """
    return min(configured, answer_limit(family, prompt_tokens(request, family)))
