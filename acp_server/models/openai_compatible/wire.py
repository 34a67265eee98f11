"""What arrives over the wire in either form, read with care: half of the fields may be missing."""

import json
from typing import cast

from pydantic import JsonValue

from acp_server.turn.events import Usage

Object = dict[str, JsonValue]


class StreamGarbageError(Exception):
    """An event that is none of the form's."""


class StreamedError(Exception):
    """The endpoint gave up in mid-stream; `code` is a status or a word, if it says one."""

    def __init__(self, message: str, code: JsonValue = None) -> None:
        super().__init__(message)
        self.code = code


def event_of(data: str) -> Object:
    """Return the object that an event's data is.

    Raises:
        StreamGarbageError: it is none.
    """
    try:
        event: JsonValue = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise StreamGarbageError(str(error)) from error
    if not isinstance(event, dict):
        raise StreamGarbageError(data[:40])
    return event


def object_of(value: JsonValue) -> Object:
    """Return an object; anything else is an empty one."""
    return value if isinstance(value, dict) else {}


def objects_of(value: JsonValue) -> list[Object]:
    """Return the objects of a list; anything else is an empty one."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def text_in(wire: Object, name: str) -> str:
    """Return the text of a field; anything else is an empty one."""
    value = wire.get(name)
    return value if isinstance(value, str) else ""


def error_of(error: JsonValue) -> StreamedError:
    """Return the error that an endpoint reports, in whatever shape."""
    wire = object_of(error)
    message = text_in(wire, "message") or (error if isinstance(error, str) else "it does not say")
    return StreamedError(message, wire.get("code") or wire.get("type"))


def chat_usage(wire: Object) -> Usage:
    """Return the usage of a chat completion."""
    details = object_of(wire.get("prompt_tokens_details"))
    read = _count(details, "cached_tokens") or _count(wire, "prompt_cache_hit_tokens")
    written = _count(details, "cache_write_tokens")
    prompt = _count(wire, "prompt_tokens")
    return Usage(
        input_tokens=max(0, prompt - read - written),
        output_tokens=_count(wire, "completion_tokens"),
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
    )


def responses_usage(wire: Object) -> Usage:
    """Return the usage of a response."""
    read = _count(object_of(wire.get("input_tokens_details")), "cached_tokens")
    return Usage(
        input_tokens=max(0, _count(wire, "input_tokens") - read),
        output_tokens=_count(wire, "output_tokens"),
        cache_read_tokens=read,
    )


def _count(wire: Object, name: str) -> int:
    value = wire.get(name)
    return int(cast("float", value)) if isinstance(value, int | float) else 0
