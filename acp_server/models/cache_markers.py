"""Type of the function that places prompt cache breakpoints in a request."""

from collections.abc import Callable

from pydantic import JsonValue

Block = dict[str, JsonValue]
CacheMarker = Callable[[list[Block], list[Block]], tuple[list[Block], list[Block]]]
"""Takes system blocks and messages; returns copies with `cache_control` breakpoints."""
