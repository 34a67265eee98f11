"""Schemas and results of the tools of this package's memory providers."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue


def object_schema(
    required: Sequence[str] = (), **fields: tuple[str, str]
) -> Mapping[str, JsonValue]:
    """Return the JSON schema of a tool's arguments: a type and a description for each."""
    properties: dict[str, JsonValue] = {
        name: {"type": kind, "description": text} for name, (kind, text) in fields.items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": list[JsonValue](required),
        "additionalProperties": False,
    }


def as_count(value: JsonValue | None, default: int, most: int) -> int:
    """Return a number of results between 1 and `most`."""
    if not isinstance(value, int) or isinstance(value, bool):
        return default
    return max(1, min(value, most))


def as_result(**values: JsonValue) -> str:
    """Return the result of a tool as JSON."""
    return json.dumps(values, ensure_ascii=False)
