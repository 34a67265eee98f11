"""Repairs the input schemas of servers' tools, so that model providers accept them.

Pure. Providers reject a whole request if one schema in it is invalid, so one broken tool must not
make the model unusable. Invalid keywords are removed, which only makes a schema more lenient; the
server validates its arguments anyway. Schemas are also limited in size. A schema that cannot be
repaired is a `ToolSchemaError`.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from typing import cast

from pydantic import JsonValue

from acp_server.mcp.ports import Json
from acp_server.text.json_values import Object, as_list, as_object

MAX_CHARACTERS = 8_000
MAX_DEPTH = 24
MAX_VALUE_DEPTH = 20
"""How deeply a value may be nested, such as a default."""
SIZE_LIMITS = ((MAX_DEPTH, 300), (MAX_DEPTH, 80), (MAX_DEPTH, 0), (6, 0), (4, 0), (3, 0))
"""Limits of depth and description length, tried in turn until a schema is small enough."""
MAX_REFERENCES = 8

TYPES = frozenset({"string", "number", "integer", "boolean", "object", "array", "null"})
COMBINATIONS = ("anyOf", "oneOf", "allOf")
_PROPERTY_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


class ToolSchemaError(ValueError):
    """A tool's input schema cannot be repaired; the message says why."""


def repair_schema(schema: JsonValue) -> Object:
    """Return the repaired input schema of a tool; without a schema the tool takes no arguments.

    Raises:
        ToolSchemaError: The schema cannot be repaired.
    """
    if schema is None:
        return {"type": "object", "properties": {}}
    if not isinstance(schema, dict):
        message = "its input schema is not an object"
        raise ToolSchemaError(message)
    repaired = _flatten_top(_SchemaRepairer(schema, MAX_DEPTH, None).repair(schema), schema)
    for depth, characters in SIZE_LIMITS:
        if _size(repaired) <= MAX_CHARACTERS:
            return repaired
        repaired = _flatten_top(_SchemaRepairer(schema, depth, characters).repair(schema), schema)
    if _size(repaired) <= MAX_CHARACTERS:
        return repaired
    message = f"its input schema is larger than {MAX_CHARACTERS:,} characters"
    raise ToolSchemaError(message)


def _size(schema: Json) -> int:
    return len(json.dumps(schema, ensure_ascii=False))


def _flatten_top(repaired: JsonValue, root: Object) -> Object:
    """Return a schema of type object, without `$ref`, `not` or combinations at its top.

    Providers reject these at the top level.
    """
    schema = cast("Object", repaired)
    for _ in range(MAX_REFERENCES):  # bounded: references can be circular
        target = _resolve_reference(schema.get("$ref"), root)
        if target is None:
            break
        found = cast("Object", _SchemaRepairer(root, MAX_DEPTH, None).repair(target))
        schema = {k: v for k, v in schema.items() if k != "$ref"} | found
    properties = as_object(schema.get("properties"))
    for combination in COMBINATIONS:
        for option in as_list(schema.pop(combination, None)):
            properties = as_object(as_object(option).get("properties")) | properties
    schema.pop("not", None)
    schema.pop("$ref", None)
    top: Object = {"type": "object", "properties": properties}
    return schema | top


class _SchemaRepairer:
    """Repairs one schema recursively."""

    def __init__(self, root: Object, max_depth: int, max_description: int | None) -> None:
        self._root = root
        self._max_depth = max_depth
        self._max_description = max_description

    def repair(self, value: JsonValue, depth: int = 0) -> JsonValue:
        """Return a schema without its invalid keywords; `{}`, which accepts anything, if none."""
        if isinstance(value, bool):
            return value
        if not isinstance(value, dict) or depth > self._max_depth:
            return {}
        keywords: Object = {}
        for name, each in value.items():
            repaired = self._repair_keyword(name, each, depth)
            if repaired is not None:
                keywords[name] = repaired
        return _fix_required(keywords)

    def _repair_keyword(self, name: str, value: JsonValue, depth: int) -> JsonValue:
        match name:
            case "properties" | "$defs" | "definitions" | "patternProperties":
                found = as_object(value)
                invalid = [key for key in found if not _PROPERTY_NAME.fullmatch(key)]
                if name == "properties" and invalid:
                    message = (
                        f"its argument name {invalid[0][:80]!r} is invalid for model providers"
                    )
                    raise ToolSchemaError(message)
                return {key: self.repair(schema, depth + 1) for key, schema in found.items()}
            case "items" | "additionalProperties" | "not" | "contains" | "propertyNames":
                return self.repair(value, depth + 1) if isinstance(value, dict | bool) else None
            case "anyOf" | "oneOf" | "allOf" | "prefixItems":
                return [self.repair(each, depth + 1) for each in as_list(value)] or None
            case "description":
                return self._shorten_description(value)
            case "$ref":
                return value if _resolve_reference(value, self._root) is not None else None
            case _:
                check = _KEYWORD_CHECKS.get(name)
                return value if check is not None and check(value) else None

    def _shorten_description(self, value: JsonValue) -> JsonValue:
        max_characters = self._max_description
        if not isinstance(value, str) or max_characters == 0:
            return None
        return (
            value
            if max_characters is None or len(value) <= max_characters
            else f"{value[:max_characters]}…"
        )


def _fix_required(schema: Object) -> Object:
    """Remove names from `required` that are no properties: providers reject them."""
    required = schema.get("required")
    if isinstance(required, list):
        properties = as_object(schema.get("properties"))
        names: list[JsonValue] = [name for name in required if name in properties]
        schema |= {"required": list(dict.fromkeys(cast("list[str]", names)))}
        if not names:
            del schema["required"]
    return schema


def _resolve_reference(reference: JsonValue, root: Object) -> Object | None:
    """Resolve a reference within a schema; None if it is external or dangling."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return None
    value: JsonValue = root
    for step in reference[2:].split("/"):
        name = step.replace("~1", "/").replace("~0", "~")
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _is_shallow(value: JsonValue) -> bool:
    """Return whether a value is not nested too deeply; it may be deeper than Python recurses."""
    level = [value]
    for _ in range(MAX_VALUE_DEPTH):
        level = [
            inner
            for each in level
            for inner in (
                each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
            )
        ]
    return not level


def _is_type(value: JsonValue) -> bool:
    if isinstance(value, list):
        return bool(value) and all(isinstance(each, str) and each in TYPES for each in value)
    return isinstance(value, str) and value in TYPES


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < math.inf


def _is_count(value: JsonValue) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_pattern(value: JsonValue) -> bool:
    if not isinstance(value, str):
        return False
    try:
        re.compile(value)
    # A count may be too large, and groups nested too deeply.
    except (re.error, OverflowError, RecursionError):
        return False
    return True


_KEYWORD_CHECKS: Mapping[str, Callable[[JsonValue], bool]] = {
    "type": _is_type,
    "required": lambda value: isinstance(value, list) and all(isinstance(e, str) for e in value),
    "pattern": _is_pattern,
    **dict.fromkeys(("const", "default"), _is_shallow),
    **dict.fromkeys(
        ("enum", "examples"),
        lambda value: isinstance(value, list) and bool(value) and _is_shallow(value),
    ),
    **dict.fromkeys(("title", "format"), lambda value: isinstance(value, str)),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), _is_count),
    **dict.fromkeys(("minProperties", "maxProperties"), _is_count),
    "multipleOf": lambda value: _is_number(value) and cast("float", value) > 0,
    "uniqueItems": lambda value: isinstance(value, bool),
}
"""The keywords without subschemas, and the checks of their values; all others are removed."""
