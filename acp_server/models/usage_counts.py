"""Token counts that endpoints report, with those that make no sense corrected."""

from dataclasses import replace
from math import isfinite

from pydantic import JsonValue

from acp_server.turn.events import Usage

NONSENSE_FACTOR = 10
"""A count this many times above the context window is not believed. The window may be assumed, and
a real one larger, but not by so much."""

MAX_DIGITS = 15


def parse_count(value: JsonValue) -> int:
    """Return a count as a whole number; 0 for one that is negative, missing or no number.

    >>> [parse_count(value) for value in (7, 7.0, "7", -7, None, True, "many")]
    [7, 7, 7, 0, 0, 0, 0]
    """
    if isinstance(value, str):
        is_count = value.isascii() and value.isdigit() and len(value) <= MAX_DIGITS
        value = int(value) if is_count else 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return 0
    return max(0, int(value))


def clamp_usage(usage: Usage, window_tokens: int) -> Usage:
    """Return the usage of a request; counts far above the context window become its size."""
    highest = NONSENSE_FACTOR * window_tokens
    if usage.prompt_tokens > highest:
        usage = Usage(window_tokens, usage.output_tokens, is_fast=usage.is_fast)
    if usage.output_tokens > highest:
        usage = replace(usage, output_tokens=window_tokens)
    return usage
