"""Reads the files of settings that providers share with Hermes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.memory.provider import ProviderUnavailableError

MAX_BYTES = 1_000_000
TRUE_WORDS = frozenset({"1", "true", "yes", "on"})


def read_settings_file(path: Path) -> Mapping[str, JsonValue]:
    """Return the JSON object of a file; empty if there is none.

    Raises:
        ProviderUnavailableError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            document = cast("JsonValue", json.loads(file.read(MAX_BYTES)))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        message = f"{path} cannot be read: {error}"
        raise ProviderUnavailableError(message) from error
    if not isinstance(document, dict):
        message = f"{path} does not hold a JSON object"
        raise ProviderUnavailableError(message)
    return document


def first_text(*values: JsonValue | None) -> str:
    """Return the first value that is a text with something in it; empty if there is none."""
    return next((each.strip() for each in values if isinstance(each, str) and each.strip()), "")


def first_bool(*values: JsonValue | None, default: bool) -> bool:
    """Return the first value that says yes or no, also as a word."""
    for each in values:
        if isinstance(each, bool):
            return each
        if isinstance(each, str) and each.strip():
            return each.strip().lower() in TRUE_WORDS
    return default


def first_number(*values: JsonValue | None, default: float) -> float:
    """Return the first value that is a positive number, also as a word."""
    for each in values:
        if isinstance(each, int | float | str) and not isinstance(each, bool):
            try:
                number = float(each)
            except ValueError:
                continue
            if number > 0:
                return number
    return default
