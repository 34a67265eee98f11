"""The stored messages of a conversation, compressed until they are needed.

A session that is loaded and not continued needs its messages never, and as objects they take ten
times the space.
"""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import overload

from acp_server.history.codec import decode_or_none
from acp_server.history.rows import Column, text_from_column
from acp_server.turn.conversation import AssistantMessage, Message, UserMessage

BLOCK_BYTES = 256 * 1024
FASTEST = 1
"""The level of compression: 64 MiB of messages take half a second."""
_KNOWN_STARTS = tuple(
    f'{{"type":"{kind.__name__}",'.encode() for kind in (UserMessage, AssistantMessage)
)


class PackedMessages(Sequence[Message]):
    """A sequence of messages that is decoded at its first use, all of it at once.

    Its length and its last message are known without that.
    """

    def __init__(self, bodies: Iterable[Column]) -> None:
        """Take the bodies of the stored rows; those that this version cannot read are left out."""
        self._blocks: list[bytes] = []
        self._count = 0
        self._last: Message | None = None
        self._messages: tuple[Message, ...] | None = None
        lines: list[bytes] = []
        size, last = 0, b""
        for body in bodies:
            line = body if isinstance(body, bytes) else text_from_column(body).encode()
            # Others are read at once: the length must be that of the messages that can be read.
            if not line.startswith(_KNOWN_STARTS) and _decode(line) is None:
                continue
            lines.append(line)
            size, last = size + len(line), line
            self._count += 1
            if size >= BLOCK_BYTES:
                self._blocks.append(_pack(lines))
                lines, size = [], 0
        if lines:
            self._blocks.append(_pack(lines))
        if last:
            self._last = _decode(last)

    def __len__(self) -> int:
        return self._count if self._messages is None else len(self._messages)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if index == -1 and self._last is not None:
            return self._last
        return self._unpack()[index]

    def __iter__(self) -> Iterator[Message]:
        return iter(self._unpack())

    def _unpack(self) -> tuple[Message, ...]:
        if self._messages is None:
            lines = (line for block in self._blocks for line in zlib.decompress(block).split(b"\n"))
            self._messages = tuple(each for line in lines if (each := _decode(line)) is not None)
            self._blocks = []
        return self._messages


def _pack(lines: Sequence[bytes]) -> bytes:
    # JSON has no line breaks within its texts.
    return zlib.compress(b"\n".join(lines), FASTEST)


def _decode(line: bytes) -> Message | None:
    found = decode_or_none(line.decode(errors="surrogatepass"))
    return found if isinstance(found, UserMessage | AssistantMessage) else None
