"""Reads messages that the SDK's parser rejects as a whole because of one value in them. Pure.

Its parser refuses values that are nested deeper than about 200 levels, and halves of surrogate
pairs. One such tool must not cost a server all its tools, nor a result the whole call.
"""

import json

from pydantic import JsonValue

from acp_server.text.surrogates import repair_surrogates

MAX_NESTING = 250
"""Deeper values become null; what reads them has lower limits."""


def parse_message(line: bytes) -> JsonValue:
    """Return the JSON value of a line, with deep values cut and texts repaired.

    Raises:
        ValueError: It is no JSON, or nested too deeply for Python's own parser.
    """
    try:
        value: JsonValue = json.loads(line)
    except RecursionError as error:
        raise ValueError(line[:40]) from error
    return _repair(value, MAX_NESTING)


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
