"""Bodies unpacked as they arrive, never beyond what is wanted of them. Pure."""

import zlib
from typing import Protocol

from acp_server.tools.web.errors import FetchError

ACCEPTED = "gzip, deflate"
_ANY_HEADER = 47
_NO_HEADER = -15


class Unpacker(Protocol):
    """Takes a body in pieces."""

    def unpack(self, data: bytes, most_bytes: int) -> bytes:
        """Return what a piece holds, at most so much; the rest of the body is then of no use.

        Raises:
            FetchError: it is not packed as it says.
        """
        ...


class Plain:
    """A body that is not packed."""

    def unpack(self, data: bytes, most_bytes: int) -> bytes:
        """Return the piece."""
        return data[:most_bytes]


class Deflated:
    """A body packed with gzip or deflate."""

    def __init__(self) -> None:
        self._inflater = zlib.decompressobj(_ANY_HEADER)
        self._is_first = True

    def unpack(self, data: bytes, most_bytes: int) -> bytes:
        """Return what a piece holds."""
        if self._inflater.eof:
            return b""
        try:
            return self._inflate(data, most_bytes)
        except zlib.error as error:
            raise FetchError(f"the answer cannot be unpacked: {error}") from error

    def _inflate(self, data: bytes, most_bytes: int) -> bytes:
        try:
            unpacked = self._inflater.decompress(data, most_bytes)
        except zlib.error:  # some servers leave the header out
            if not self._is_first:
                raise
            self._inflater = zlib.decompressobj(_NO_HEADER)
            unpacked = self._inflater.decompress(data, most_bytes)
        self._is_first = False
        return unpacked


def unpacker_for(encoding: str) -> Unpacker:
    """Return what unpacks a body.

    Raises:
        FetchError: it is packed in a way that was not asked for.
    """
    match encoding.strip().lower():
        case "" | "identity":
            return Plain()
        case "gzip" | "x-gzip" | "deflate":
            return Deflated()
        case other:
            raise FetchError(f"the answer is packed as {other[:40]!a}, which nobody asked for")
