"""Values made up from the published schema: the smallest that is valid, and any that are."""

from functools import cache

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import JsonValue

from tests.protocol.pairing import spoken_shapes
from tests.support.published_schema import (
    INTEGERS,
    JsonObject,
    Shape,
    alternatives,
    as_list,
    as_object,
    resolved,
    shapes,
    validator,
)

UNKNOWN_KEY = "aKeyNobodyKnows"

ANY_JSON: SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=3,
)


def smallest(shape: Shape) -> JsonObject:
    """An object with nothing but what is required."""
    return {name: _plainest(shape.properties[name]) for name in sorted(shape.required)}


@cache
def instances(definition: str) -> SearchStrategy[JsonValue]:
    """Any value that is as the definition says, sometimes with a key more than it names."""
    found = spoken_shapes(definition)
    made = st.one_of(map(_objects, found)) if found else _values(definition)
    return made.filter(validator(definition).is_valid)
