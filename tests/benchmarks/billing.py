"""Cost of any agent's requests to the Messages API, whatever fields they have.

Uses `accounting`, whose request parser is as strict as the API of a certain date. So unknown fields
are dropped first, and all requests are treated as sent to the same model.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from tests.benchmarks.accounting import Bill, Body, object_list, replay
from tests.support.messages_api.shapes import CustomTool

MODEL = "claude-opus-5-5"
KNOWN_FIELDS = ("system", "messages", "max_tokens", "stream")
TOOL_FIELDS = frozenset(CustomTool.model_fields)
BLOCK_FIELDS: Mapping[str, Collection[str]] = {
    "text": ("text",),
    "image": ("source",),
    "document": ("source",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
}


def compute_lenient_bill(bodies: Sequence[Body]) -> Bill:
    """Return the bill for requests in order, side requests included."""
    return replay([drop_unknown_fields(body) for body in bodies])


def drop_unknown_fields(body: Body) -> Body:
    """Return a request with only the fields that `accounting` knows."""
    fields = {name: body[name] for name in KNOWN_FIELDS if name in body}
    system = body.get("system")
    if isinstance(system, list):
        fields["system"] = [*_clean_blocks(object_list(body, "system"))]
    messages: list[JsonValue] = [
        {"role": message["role"], "content": _clean_content(message["content"])}
        for message in object_list(body, "messages")
    ]
    tools: list[JsonValue] = [_clean_tool(tool) for tool in object_list(body, "tools")]
    return {"max_tokens": 1, **fields, "model": MODEL, "messages": messages, "tools": tools}


def _clean_content(content: JsonValue) -> JsonValue:
    if not isinstance(content, list):
        return content
    return [*_clean_blocks([block for block in content if isinstance(block, dict)])]


def _clean_blocks(blocks: Sequence[Mapping[str, JsonValue]]) -> list[JsonValue]:
    return [_clean_block(block) for block in blocks if block["type"] in BLOCK_FIELDS]


def _clean_block(block: Mapping[str, JsonValue]) -> JsonValue:
    fields = BLOCK_FIELDS[str(block["type"])]
    known = {name: block[name] for name in fields if name in block}
    if block["type"] == "tool_result":
        known["content"] = _clean_content(block.get("content", ""))
    return {"type": block["type"], **known, **_clean_marker(block)}


def _clean_tool(tool: Mapping[str, JsonValue]) -> JsonValue:
    fields = {name: value for name, value in tool.items() if name in TOOL_FIELDS}
    fields.pop("type", None)
    return {"input_schema": {}, **fields, **_clean_marker(tool)}


def _clean_marker(part: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the cache marker of a part with only its lifetime."""
    mark = part.get("cache_control")
    if not isinstance(mark, dict):
        return {}
    return {"cache_control": {name: mark[name] for name in ("type", "ttl") if name in mark}}
