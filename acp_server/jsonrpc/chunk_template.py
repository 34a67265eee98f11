"""Precomputed notification lines for streamed text.

A streamed message has thousands of chunks whose notifications differ only in one text. The constant
part is encoded once, so each chunk costs only its own text, and unread chunks can be coalesced
(`outbox.CoalesceKey`).
"""

from dataclasses import dataclass, field
from typing import Self

from acp_server.jsonrpc.messages import Encodable, encode, notification_line
from acp_server.jsonrpc.outbox import CoalesceKey


@dataclass(frozen=True, slots=True, eq=False)
class ChunkTemplate:
    """A notification line with a placeholder inside one of its strings."""

    head: bytes
    tail: bytes
    coalesce_key: CoalesceKey = field(init=False)

    def __post_init__(self) -> None:
        """Compute where two lines can be joined."""
        object.__setattr__(self, "coalesce_key", CoalesceKey(len(self.head), len(self.tail)))

    @classmethod
    def from_example(cls, placeholder: str, method: str, params: Encodable) -> Self:
        """Return the template of a notification in which `placeholder` is one entire string value.

        Raises:
            ValueError: `placeholder` does not occur exactly once.
        """
        # Splitting on the encoded gap includes its quotes; they go back on, so `render` can insert
        # escaped text between them. The unpacking fails unless there is exactly one occurrence.
        head, tail = notification_line(method, params).split(encode(placeholder))
        return cls(head + b'"', b'"' + tail)

    def render(self, text: str) -> bytes:
        """Return the line with `text` in the placeholder."""
        # [1:-1]: the template already has the quotes of the string.
        return b"%b%b%b" % (self.head, encode(text)[1:-1], self.tail)
