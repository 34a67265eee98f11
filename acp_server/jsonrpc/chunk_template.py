"""Precomputed notification lines for streamed text.

A streamed message has thousands of chunks whose notifications differ only in one text. The constant
part is encoded once, so each chunk costs only its own text, and unread chunks can be coalesced
(`outbox.CoalesceKey`).
"""

from acp_server.jsonrpc.messages import Encodable, encode, notification_line
from acp_server.jsonrpc.outbox import CoalesceKey


class ChunkTemplate:
    """A notification line with a placeholder inside one of its strings."""

    def __init__(self, placeholder: str, method: str, params: Encodable) -> None:
        """Encode a notification in which `placeholder` is one entire string value.

        Raises:
            ValueError: `placeholder` does not occur exactly once.
        """
        # Splitting on the encoded gap includes its quotes; they go back on, so `render` can insert
        # escaped text between them. The unpacking fails unless there is exactly one occurrence.
        head, tail = notification_line(method, params).split(encode(placeholder))
        self._head, self._tail = head + b'"', b'"' + tail
        self.coalesce_key = CoalesceKey(len(self._head), len(self._tail))
        """Identifies the lines of this template, which can be joined."""

    def render(self, text: str) -> bytes:
        """Return the line with `text` in the placeholder."""
        # [1:-1]: the template already has the quotes of the string.
        return b"%b%b%b" % (self._head, encode(text)[1:-1], self._tail)
