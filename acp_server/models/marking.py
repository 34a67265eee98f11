"""What places the breakpoints of a prompt cache, as the adapters are given it."""

from collections.abc import Callable

from pydantic import JsonValue

Block = dict[str, JsonValue]
Mark = Callable[[list[Block], list[Block]], tuple[list[Block], list[Block]]]
"""Takes system blocks and messages, returns marked copies."""
