"""Incremental decoding of compressed bodies, never beyond the wanted size. Pure."""

import zlib
from typing import Protocol

from acp_server.tools.web.errors import FetchError

ACCEPTED = "gzip, deflate"
# wbits for zlib: 32 + 15 detects gzip and zlib headers; -15 means raw deflate.
_ANY_HEADER = 47
_NO_HEADER = -15


class Unpacker(Protocol):
    """Decodes a body chunk by chunk."""

    def unpack(self, data: bytes, most_bytes: int) -> bytes:
        """Return up to `max_bytes` of a chunk's decoded data; the remainder is discarded.

        After a discard, further chunks are useless.

        Raises:
            FetchError: The data does not match its declared encoding.
        """
        ...


class Plain:
    """A body without compression."""

    def unpack(self, data: bytes, most_bytes: int) -> bytes:
        """Return the chunk."""
        return data[:most_bytes]


class Deflated:
    """A body compressed with gzip or deflate."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_ANY_HEADER)
        self._is_first = True

    def unpack(self, data: bytes, most_bytes: int) -> bytes:
        """Return the decompressed chunk."""
        if self._inflater.eof:
            return b""
        try:
            return self._inflate(data, most_bytes)
        except zlib.error as error:
            raise FetchError(f"the answer cannot be unpacked: {error}") from error

    def _inflate(self, data: bytes, most_bytes: int) -> bytes:
        try:
            unpacked = self._inflater.decompress(data, most_bytes)
        except zlib.error:  # some servers send raw deflate data without the zlib header
            if not self._is_first:
                raise
            self._inflater = zlib.decompressobj(_NO_HEADER)
            unpacked = self._inflater.decompress(data, most_bytes)
        self._is_first = False
        return unpacked


def unpacker_for(encoding: str) -> Unpacker:
    """Return the decoder for a Content-Encoding.

    Raises:
        FetchError: The encoding was not requested.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return Plain()
        case "gzip" | "x-gzip" | "deflate":
            return Deflated()
        case other:
            raise FetchError(f"the answer is packed as {other[:40]!a}, which nobody asked for")
