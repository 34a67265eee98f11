"""Lenient readers of JSON values: a value that is missing or of the wrong type counts as empty."""

from pydantic import JsonValue

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
