"""Incremental decoding of compressed bodies, never beyond the wanted size. Pure."""

import zlib
from typing import Protocol

from acp_server.tools.web.errors import FetchError

ACCEPT_ENCODING = "gzip, deflate"
# wbits for zlib: 32 + 15 detects gzip and zlib headers; -15 means raw deflate.
_WBITS_AUTO = 47
_WBITS_RAW = -15


class BodyDecoder(Protocol):
    """Decodes a body chunk by chunk."""

    def decode(self, data: bytes, max_bytes: int) -> bytes:
        """Return up to `max_bytes` of a chunk's decoded data; the remainder is discarded.

        After a discard, further chunks are useless.

        Raises:
            FetchError: The data does not match its declared encoding.
        """
        ...


class IdentityDecoder:
    """A body without compression."""

    def decode(self, data: bytes, max_bytes: int) -> bytes:
        """Return the chunk."""
        return data[:max_bytes]


class DeflateDecoder:
    """A body compressed with gzip or deflate."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_WBITS_AUTO)
        self._is_first = True

    def decode(self, data: bytes, max_bytes: int) -> bytes:
        """Return the decompressed chunk."""
        if self._inflater.eof:
            return b""
        try:
            return self._inflate(data, max_bytes)
        except zlib.error as error:
            raise FetchError(f"the answer cannot be unpacked: {error}") from error

    def _inflate(self, data: bytes, max_bytes: int) -> bytes:
        try:
            decompressed = self._inflater.decompress(data, max_bytes)
        except zlib.error:  # some servers send raw deflate data without the zlib header
            if not self._is_first:
                raise
            self._inflater = zlib.decompressobj(_WBITS_RAW)
            decompressed = self._inflater.decompress(data, max_bytes)
        self._is_first = False
        return decompressed


def create_decoder(encoding: str) -> BodyDecoder:
    """Return the decoder for a Content-Encoding.

    Raises:
        FetchError: The encoding was not requested.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return IdentityDecoder()
        case "gzip" | "x-gzip" | "deflate":
            return DeflateDecoder()
        case other:
            raise FetchError(f"the answer is packed as {other[:40]!a}, which nobody asked for")
