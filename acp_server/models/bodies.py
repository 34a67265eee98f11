"""The bodies of requests as bytes: written in one pass, the same each time."""

import json
from collections.abc import Mapping

from pydantic import JsonValue
from pydantic_core import PydanticSerializationError, to_json


def written(body: Mapping[str, JsonValue]) -> bytes:
    """Return a body as compact UTF-8 JSON.

    Raises:
        ValueError: it holds what JSON cannot carry, such as half a character.
    """
    try:
        return to_json(body, inf_nan_mode="null")  # a third of the time that `json` takes
    except PydanticSerializationError:  # nesting beyond 255 levels, or what `json` refuses too
        text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode()
