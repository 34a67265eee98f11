"""Incremental decoding of compressed bodies, never beyond the wanted size. Pure."""

import zlib

from acp_server.tools.web.errors import FetchError

ACCEPT_ENCODING = "gzip, deflate"
# wbits for zlib: 32 + 15 detects gzip and zlib headers; -15 means raw deflate.
_WBITS_AUTO = 47
_WBITS_RAW = -15


class BodyDecoder:
    """Decodes a body chunk by chunk."""

    def __init__(self, encoding: str) -> None:
        """Create it for a Content-Encoding.

        Raises:
            FetchError: The encoding was not requested.
        """
        match encoding.strip().lower():
            case "" | "identity":
                self._inflater = None
            case "gzip" | "x-gzip" | "deflate":
                self._inflater = zlib.decompressobj(_WBITS_AUTO)
            case other:
                raise FetchError(f"the answer is packed as {other[:40]!a}, which was not requested")
        self._is_first = True

    def decode(self, data: bytes, max_bytes: int) -> bytes:
        """Return up to `max_bytes` of a chunk's decoded data; the remainder is discarded.

        After a discard, further chunks are useless.

        Raises:
            FetchError: The data does not match its declared encoding.
        """
        if self._inflater is None:
            return data[:max_bytes]
        if self._inflater.eof:
            return b""
        try:
            decompressed = self._inflater.decompress(data, max_bytes)
        except zlib.error as error:
            if not self._is_first:
                raise FetchError(f"the answer cannot be unpacked: {error}") from error
            # Some servers send raw deflate data without the zlib header.
            self._inflater = zlib.decompressobj(_WBITS_RAW)
            self._is_first = False
            return self.decode(data, max_bytes)
        self._is_first = False
        return decompressed
