"""Values generated from the published schema: a minimal one, and arbitrary valid ones."""

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import JsonValue

from tests.protocol.pairing import modelled_shapes
from tests.support.published_schema import (
    INTEGERS,
    JsonObject,
    ObjectShape,
    alternatives,
    as_list,
    as_object,
    definitions,
    resolve_reference,
    schema_errors,
    shapes,
)

UNKNOWN_KEY = "aKeyThatNobodyKnows"

MINIMAL_VALUES: dict[str, JsonValue] = {
    "array": [],
    "boolean": True,
    "integer": 1,
    "null": None,
    "number": 1.5,
    "string": "text",
}

SHORT_TEXT = st.text(max_size=4)

ANY_JSON: SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | SHORT_TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(SHORT_TEXT, inner, max_size=2),
    max_leaves=3,
)


def minimal_object(shape: ObjectShape) -> JsonObject:
    """Return an object with only the required properties."""
    return {name: _minimal_value(shape.properties[name]) for name in sorted(shape.required)}


@cache
def instances(definition: str) -> SearchStrategy[JsonValue]:
    """Return a strategy for valid values, some of them with an unknown key."""
    found = modelled_shapes(definition)
    made = st.one_of(*map(_objects, found)) if found else _values(definitions()[definition])
    return made.filter(lambda value: not schema_errors(definition, value))


def _minimal_value(schema: JsonObject) -> JsonValue:
    schema = resolve_reference(schema)
    if "const" in schema:
        return schema["const"]
    if schema.get("type") == "object":
        return minimal_object(shapes(schema)[0])
    if "type" in schema:
        return MINIMAL_VALUES[str(schema["type"])]
    return _minimal_value(_choices(schema)[0])


def _values(schema: JsonObject) -> SearchStrategy[JsonValue]:
    schema = resolve_reference(schema)
    kind = schema.get("type")
    if "const" in schema:
        return st.just(schema["const"])
    if kind == "object":
        return _maps(schema) if "additionalProperties" in schema else _any_shape(schema)
    if isinstance(kind, list):
        return st.one_of(*(_values({**schema, "type": each}) for each in kind))
    if isinstance(kind, str):
        return _simple(kind, schema)
    return st.one_of(*map(_values, _choices(schema))) if _choices(schema) else ANY_JSON


def _choices(schema: JsonObject) -> list[JsonObject]:
    return alternatives(schema) or as_list(schema.get("allOf", []))


def _any_shape(schema: JsonObject) -> SearchStrategy[JsonValue]:
    return st.one_of(*map(_objects, shapes(schema)))


def _objects(shape: ObjectShape) -> SearchStrategy[JsonValue]:
    made = {name: _values(schema) for name, schema in shape.properties.items()}
    return st.fixed_dictionaries(
        {name: values for name, values in made.items() if name in shape.required},
        optional={name: values for name, values in made.items() if name not in shape.required}
        | {UNKNOWN_KEY: ANY_JSON},
    )


def _maps(schema: JsonObject) -> SearchStrategy[JsonValue]:
    about = schema["additionalProperties"]
    values = ANY_JSON if about is True else _values(as_object(about))
    return st.dictionaries(SHORT_TEXT, values, max_size=2)


def _simple(kind: str, schema: JsonObject) -> SearchStrategy[JsonValue]:
    if kind == "array":
        return st.lists(_values(as_object(schema["items"])), max_size=2)
    if kind == "integer":
        allowed = INTEGERS[str(schema["format"])]
        return st.integers(allowed[0], allowed[-1])
    if kind == "string":
        return st.text(min_size=1 if "minLength" in schema else 0, max_size=6)
    if kind == "number":
        return st.floats(allow_nan=False, allow_infinity=False)
    return st.booleans() if kind == "boolean" else st.none()
