"""Cost of any agent's requests to the Messages API, whatever fields they have.

Uses `accounting`, whose request parser is as strict as the API of a certain date. So unknown fields
are dropped first, and all requests are treated as sent to the same model.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from tests.benchmarks.accounting import Bill, Body, objects, replay
from tests.support.messages_api.shapes import CustomTool

MODEL = "claude-opus-5-5"
KEPT = ("system", "messages", "max_tokens", "stream")
TOOL_FIELDS = frozenset(CustomTool.model_fields)
BLOCK_FIELDS: Mapping[str, Collection[str]] = {
    "text": ("text",),
    "image": ("source",),
    "document": ("source",),
    "tool_use": ("id", "name", "input"),
    "tool_result": ("tool_use_id", "content", "is_error"),
}


def bill_for(bodies: Sequence[Body]) -> Bill:
    """Return the bill for requests in order, side requests included."""
    return replay([plain(body) for body in bodies])


def plain(body: Body) -> Body:
    """Return a request with only the fields that `accounting` knows."""
    kept = {name: body[name] for name in KEPT if name in body}
    system = body.get("system")
    if isinstance(system, list):
        kept["system"] = [*_blocks(objects(body, "system"))]
    messages: list[JsonValue] = [
        {"role": message["role"], "content": _content(message["content"])}
        for message in objects(body, "messages")
    ]
    tools: list[JsonValue] = [_tool(tool) for tool in objects(body, "tools")]
    return {"max_tokens": 1, **kept, "model": MODEL, "messages": messages, "tools": tools}


def _content(content: JsonValue) -> JsonValue:
    if not isinstance(content, list):
        return content
    return [*_blocks([block for block in content if isinstance(block, dict)])]


def _blocks(blocks: Sequence[Mapping[str, JsonValue]]) -> list[JsonValue]:
    return [_block(block) for block in blocks if block["type"] in BLOCK_FIELDS]


def _block(block: Mapping[str, JsonValue]) -> JsonValue:
    fields = BLOCK_FIELDS[str(block["type"])]
    kept = {name: block[name] for name in fields if name in block}
    if block["type"] == "tool_result":
        kept["content"] = _content(block.get("content", ""))
    return {"type": block["type"], **kept, **_mark(block)}


def _tool(tool: Mapping[str, JsonValue]) -> JsonValue:
    kept = {name: value for name, value in tool.items() if name in TOOL_FIELDS}
    kept.pop("type", None)
    return {"input_schema": {}, **kept, **_mark(tool)}


def _mark(part: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the cache marker of a part with only its lifetime."""
    mark = part.get("cache_control")
    if not isinstance(mark, dict):
        return {}
    return {"cache_control": {name: mark[name] for name in ("type", "ttl") if name in mark}}
