"""Lazy web client: imports the HTTP libraries in a thread, at the first request."""

import anyio
from anyio import to_thread

from acp_server.tools.lazy_imports import WebConfig
from acp_server.tools.web.addresses import WebAddress
from acp_server.tools.web.responses import WebClient, WebResponse


class LazyWebClient:
    """Client whose implementation is imported at the first request."""

    def __init__(self, config: WebConfig) -> None:
        self._config = config
        self._lock = anyio.Lock()
        self._client: WebClient | None = None

    async def get(self, address: WebAddress, timeout_seconds: float) -> WebResponse:
        """Request a page.

        Raises:
            WebError: The page could not be fetched.
        """
        # Single-flight: concurrent first requests share one import. The request itself runs outside
        # the lock.
        async with self._lock:
            if self._client is None:
                self._client = await to_thread.run_sync(_create_client, self._config)
        return await self._client.get(address, timeout_seconds)


def _create_client(config: WebConfig) -> WebClient:
    from acp_server.tools.web.http_client import HttpWebClient
    from acp_server.tools.web.network_backend import CheckedNetworkBackend
    from acp_server.tools.web.network_policy import build_network_policy

    return HttpWebClient(
        CheckedNetworkBackend(build_network_policy(config.allowed_private_hosts)), config.max_bytes
    )
