"""Lenient readers of the wire format of both OpenAI API formats: many fields may be missing."""

import json

from pydantic import JsonValue

from acp_server.models.usage_counts import parse_count
from acp_server.text.json_values import Object, as_object, as_text
from acp_server.turn.events import Usage


class MalformedOpenAiEventError(Exception):
    """An event is malformed or not defined by the API format."""


class OpenAiStreamError(Exception):
    """The endpoint reported an error inside the stream.

    `error` is the structured error, `code` its status or error code.
    """

    def __init__(self, message: str, error: Object) -> None:
        super().__init__(message)
        self.error = error
        self.code = error.get("code") or error.get("type")


def parse_event(data: str) -> Object:
    """Parse the data of an event as a JSON object.

    Raises:
        MalformedOpenAiEventError: The data is not a JSON object.
    """
    try:
        event: JsonValue = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedOpenAiEventError(str(error)) from error
    if not isinstance(event, dict):
        raise MalformedOpenAiEventError(data[:40])
    return event


def parse_error(error: JsonValue) -> OpenAiStreamError:
    """Convert an error in any of the endpoints' shapes."""
    wire = as_object(error)
    message = as_text(wire.get("message")) or (
        error if isinstance(error, str) else "no reason given"
    )
    return OpenAiStreamError(message, wire)


def parse_chat_usage(wire: Object) -> Usage:
    """Convert the usage of a chat completion."""
    details = as_object(wire.get("prompt_tokens_details"))
    prompt = parse_count(wire.get("prompt_tokens"))
    cached = parse_count(details.get("cached_tokens"))
    read = min(prompt, cached or parse_count(wire.get("prompt_cache_hit_tokens")))
    written = min(prompt - read, parse_count(details.get("cache_write_tokens")))
    return Usage(
        input_tokens=prompt - read - written,
        output_tokens=parse_count(wire.get("completion_tokens")),
        cache_read_tokens=read,
        cache_write_5m_tokens=written,
    )


def parse_responses_usage(wire: Object) -> Usage:
    """Convert the usage of a response."""
    prompt = parse_count(wire.get("input_tokens"))
    details = as_object(wire.get("input_tokens_details"))
    read = min(prompt, parse_count(details.get("cached_tokens")))
    return Usage(
        input_tokens=prompt - read,
        output_tokens=parse_count(wire.get("output_tokens")),
        cache_read_tokens=read,
    )
