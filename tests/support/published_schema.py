"""Access to the JSON schema that the TypeScript SDK of ACP publishes.

A definition is resolved into shapes: the kinds of object that it allows, with all references and
combinations of other definitions expanded.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, reduce

from jsonschema_rs import Draft202012Validator
from pydantic import JsonValue

from tests.support.node_clients import node_clients

SCHEMA = "node_modules/@agentclientprotocol/sdk/schema/v1/schema.json"
REFERENCE = "#/$defs/"

JsonObject = dict[str, JsonValue]

INTEGERS = {
    "uint16": range(1 << 16),
    "uint32": range(1 << 32),
    "uint64": range(1 << 64),
    "int32": range(-(1 << 31), 1 << 31),
    "int64": range(-(1 << 63), 1 << 63),
}
"""Ranges of the integer formats, which JSON schema itself treats as annotations."""


@dataclass(frozen=True)
class ObjectShape:
    """Kind of object: its properties with their schemas, and the required ones."""

    properties: Mapping[str, JsonObject] = field(default_factory=dict[str, JsonObject])
    required: frozenset[str] = frozenset()

    def __and__(self, other: "ObjectShape") -> "ObjectShape":
        return ObjectShape({**self.properties, **other.properties}, self.required | other.required)


@cache
def published_schema() -> JsonObject:
    """Return the whole schema."""
    return as_object(json.loads((node_clients() / SCHEMA).read_text(encoding="utf-8")))


@cache
def definitions() -> Mapping[str, JsonObject]:
    """Return all definitions by name."""
    return as_objects(published_schema()["$defs"])


def schema_errors(definition: str, value: JsonValue) -> list[str]:
    """Return the violations of a definition by a value; empty if it is valid."""
    return _validation_errors({"$ref": REFERENCE + definition}, value)


def item_schema_errors(array: JsonObject, item: JsonValue) -> list[str]:
    """Return the violations of an array schema's `items` by an item; empty if it is valid."""
    return _validation_errors(as_object(array["items"]), item)


def resolve_reference(schema: JsonObject) -> JsonObject:
    """Return the definition that a schema refers to, or the schema itself."""
    reference = schema.get("$ref")
    if reference is None:
        return schema
    return definitions()[str(reference).removeprefix(REFERENCE)]


def alternatives(schema: JsonObject) -> list[JsonObject]:
    """Return the `anyOf` or `oneOf` alternatives of a schema; empty if it has none."""
    return as_list(schema.get("anyOf") or schema.get("oneOf") or [])


def shapes(schema: JsonObject) -> list[ObjectShape]:
    """Return the kinds of object that a schema allows; empty if its type is not object."""
    schema = resolve_reference(schema)
    if schema.get("type", "object") != "object":
        return []
    required = schema.get("required", [])
    assert isinstance(required, list)
    base = ObjectShape(as_objects(schema.get("properties", {})), frozenset(map(str, required)))
    parts = [shapes(part) for part in as_list(schema.get("allOf", []))]
    if alternatives(schema):
        parts.append([shape for choice in alternatives(schema) for shape in shapes(choice)])
    return reduce(_combine, parts, [base])


def as_object(value: JsonValue) -> JsonObject:
    """Return the value, asserting that it is an object."""
    assert isinstance(value, dict)
    return value


def as_objects(value: JsonValue) -> dict[str, JsonObject]:
    """Return the value, asserting that it is an object of schemas; `true` becomes `{}`."""
    return {key: {} if item is True else as_object(item) for key, item in as_object(value).items()}


def as_list(value: JsonValue) -> list[JsonObject]:
    """Return the value, asserting that it is an array of objects."""
    assert isinstance(value, list)
    return [as_object(item) for item in value]


def _validation_errors(schema: JsonObject, value: JsonValue) -> list[str]:
    return [error.message for error in _validator(json.dumps(schema)).iter_errors(value)]


@cache
def _validator(text: str) -> Draft202012Validator:
    schema = {**json.loads(text), "$defs": published_schema()["$defs"]}
    return Draft202012Validator(as_object(_with_ranges(schema)))


def _with_ranges(schema: JsonValue) -> JsonValue:
    """Return a schema whose integer formats are bounds, which a validator checks."""
    if isinstance(schema, list):
        return [_with_ranges(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    allowed = INTEGERS.get(str(schema.get("format")))
    bounds: JsonObject = {}
    if allowed is not None and "properties" not in schema:
        bounds = {"minimum": allowed.start, "maximum": allowed.stop - 1}
    return {**bounds, **{key: _with_ranges(part) for key, part in schema.items()}}


def _combine(left: list[ObjectShape], right: list[ObjectShape]) -> list[ObjectShape]:
    return [one & other for one in left for other in right]
