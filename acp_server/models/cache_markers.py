"""Type of the function that places prompt cache breakpoints in a request."""

from collections.abc import Sequence
from typing import Protocol

from pydantic import JsonValue

Block = dict[str, JsonValue]


class CacheMarker(Protocol):
    """Takes system blocks and messages; returns copies with `cache_control` breakpoints."""

    def __call__(
        self, system: Sequence[Block], messages: Sequence[Block], /, *, settled: Sequence[int] = ()
    ) -> tuple[list[Block], list[Block]]:
        """Add breakpoints; `settled` are numbers of messages behind which one should stay."""
        ...
