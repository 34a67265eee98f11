"""Reads messages that the SDK's parser rejects as a whole because of one value in them. Pure.

Its parser refuses values that are nested deeper than about 200 levels, and halves of surrogate
pairs. One such tool must not cost a server all its tools, nor a result the whole call.
"""

import json

from pydantic import JsonValue
from pydantic_core import from_json

from acp_server.text.surrogates import repair_surrogates

MAX_NESTING = 250
"""Deeper values become null; what reads them has lower limits."""


MAX_PARSED_NESTING = 190
"""What the SDK's parser takes, with a margin."""


def repair_message(line: bytes) -> bytes:
    """Return a message as the SDK's parser takes it; unchanged if it does, or if it is no JSON."""
    try:
        from_json(line)
    except ValueError:
        try:
            value = parse_message(line, MAX_PARSED_NESTING)
        except ValueError:
            return line
        return json.dumps(value, ensure_ascii=False).encode()
    return line


def parse_message(line: bytes, levels: int = MAX_NESTING) -> JsonValue:
    """Return the JSON value of a line, with values below so many levels cut and texts repaired.

    Raises:
        ValueError: It is no JSON, or nested too deeply for Python's own parser.
    """
    try:
        value: JsonValue = json.loads(line)
    except RecursionError as error:
        raise ValueError(line[:40]) from error
    return _repair(value, levels)


def _repair(value: JsonValue, levels: int) -> JsonValue:
    match value:
        case str():
            return repair_surrogates(value)
        case dict() | list() if levels == 0:
            return None
        case dict():
            return {
                repair_surrogates(name): _repair(each, levels - 1) for name, each in value.items()
            }
        case list():
            return [_repair(each, levels - 1) for each in value]
        case _:
            return value
