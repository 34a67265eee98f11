"""Lenient readers of JSON values: a value that is missing or of the wrong type counts as empty."""

from collections.abc import Callable

from pydantic import JsonValue

MAX_JSON_DEPTH = 100
"""Maximum nesting of JSON: deeper values could exceed the recursion limit."""
TOO_DEEP = "(nested too deeply)"

Object = dict[str, JsonValue]


def as_object(value: JsonValue) -> Object:
    """Return the value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def as_list(value: JsonValue) -> list[JsonValue]:
    """Return the value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def as_objects(value: JsonValue) -> list[Object]:
    """Return the objects in a list; empty if the value is not a list."""
    return [each for each in as_list(value) if isinstance(each, dict)]


def as_text(value: JsonValue) -> str:
    """Return the value if it is a string, else an empty string."""
    return value if isinstance(value, str) else ""


def map_strings(value: JsonValue, change: Callable[[str], str], depth: int = 0) -> JsonValue:
    """Return a JSON value with all its strings and keys changed."""
    if depth > MAX_JSON_DEPTH:
        return TOO_DEEP
    match value:
        case str():
            return change(value)
        case list():
            return [map_strings(each, change, depth + 1) for each in value]
        case dict():
            return {
                change(key): map_strings(each, change, depth + 1) for key, each in value.items()
            }
        case _:
            return value
