"""HTTP client for one GET request, bounded in time and bytes. Follows no redirects.

Sends nothing of the user's except the address: no cookies, credentials or referrer.
"""

import ssl

import anyio
import httpcore2
from anyio import to_thread

from acp_server.tools.web.addresses import WebAddress
from acp_server.tools.web.content_encoding import ACCEPT_ENCODING, BodyDecoder
from acp_server.tools.web.errors import FetchError
from acp_server.tools.web.responses import WebResponse
from acp_server.version import __version__

HTTP_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.ProtocolError,
    httpcore2.TimeoutException,
    httpcore2.UnsupportedProtocol,
    httpcore2.ConnectionNotAvailable,
    OSError,
)


class HttpWebClient:
    """HTTP client over a network backend."""

    def __init__(self, network: httpcore2.AsyncNetworkBackend, max_bytes: int) -> None:
        self._network = network
        self._max_bytes = max_bytes
        self._tls: ssl.SSLContext | None = None

    async def get(self, address: WebAddress, timeout_seconds: float) -> WebResponse:
        """Request a page.

        Raises:
            WebError: The page could not be fetched.
        """
        if self._tls is None and address.scheme == "https":
            # Loading the CA certificates reads files, so it runs in a thread, once.
            self._tls = await to_thread.run_sync(httpcore2.default_ssl_context)
        try:
            with anyio.fail_after(timeout_seconds):
                return await self._get(address)
        except TimeoutError:
            raise FetchError(f"{address.site} took longer than {timeout_seconds:.0f} s") from None
        except HTTP_ERRORS as error:
            text = f"{type(error).__name__}: {error}".removesuffix(": ")
            raise FetchError(f"{address.site} cannot be read: {text}") from error

    async def _get(self, address: WebAddress) -> WebResponse:
        url = httpcore2.URL(
            scheme=address.scheme.encode(),
            host=address.host.encode(),
            port=address.port,
            target=address.target.encode(),
        )
        headers = [
            ("Host", address.authority),
            ("User-Agent", f"acp-server/{__version__}"),
            ("Accept", "text/html, text/markdown, text/plain;q=0.9, */*;q=0.5"),
            ("Accept-Encoding", ACCEPT_ENCODING),
            ("Connection", "close"),
        ]
        async with (
            httpcore2.AsyncConnectionPool(self._tls, network_backend=self._network) as pool,
            pool.stream("GET", url, headers=headers) as response,
        ):
            return await self._read(response)

    async def _read(self, response: httpcore2.Response) -> WebResponse:
        headers: dict[str, str] = {}
        for name, value in response.headers:
            headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
        if 300 <= response.status < 400:  # noqa: PLR2004 - of a redirect nobody reads the body
            return WebResponse(response.status, headers)
        decoder = BodyDecoder(headers.get("content-encoding", ""))
        body = bytearray()
        received_bytes = 0
        async for chunk in response.aiter_stream():
            # Both sizes are limited: `body` against decompression bombs, `received_bytes` against a
            # long stream that decodes to nothing. One byte more than the limit shows that the body
            # was cut.
            body += decoder.decode(chunk, self._max_bytes + 1 - len(body))
            received_bytes += len(chunk)
            if max(len(body), received_bytes) > self._max_bytes:
                return WebResponse(
                    response.status, headers, bytes(body[: self._max_bytes]), is_truncated=True
                )
        return WebResponse(response.status, headers, bytes(body))
