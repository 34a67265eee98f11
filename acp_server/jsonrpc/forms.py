"""Notifications that are sent often, alike but for one text: written once, then filled in.

A streamed message has thousands of pieces. Each costs what its own text costs, and pieces that
nobody has read yet can be joined (`outbox.Seam`).
"""

from dataclasses import dataclass, field
from typing import Self

from acp_server.jsonrpc.messages import Encodable, encode, notification_line
from acp_server.jsonrpc.outbox import Seam


@dataclass(frozen=True, slots=True, eq=False)
class NotificationForm:
    """A line with a gap in one of its strings."""

    head: bytes
    tail: bytes
    seam: Seam = field(init=False)

    def __post_init__(self) -> None:
        """Work out where two lines can be joined."""
        object.__setattr__(self, "seam", Seam(len(self.head), len(self.tail)))

    @classmethod
    def around(cls, gap: str, method: str, params: Encodable) -> Self:
        """Return the form of a notification in which `gap` stands once, as the whole of a string.

        Raises:
            ValueError: it does not.
        """
        head, tail = notification_line(method, params).split(encode(gap))
        return cls(head + b'"', b'"' + tail)

    def filled(self, text: str) -> bytes:
        """Return the line with a text in the gap."""
        return b"%b%b%b" % (self.head, encode(text)[1:-1], self.tail)
