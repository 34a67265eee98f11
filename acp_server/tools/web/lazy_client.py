"""Lazy web client: imports the HTTP libraries in a thread, at the first request."""

from functools import partial

from acp_server.startup.lazy_value import Lazy
from acp_server.tools.tool_settings import WebConfig
from acp_server.tools.web.addresses import WebAddress
from acp_server.tools.web.responses import WebClient, WebResponse


class LazyWebClient:
    """Client whose implementation is imported at the first request."""

    def __init__(self, config: WebConfig) -> None:
        self._client = Lazy(partial(_create_client, config))

    async def get(self, address: WebAddress, timeout_seconds: float) -> WebResponse:
        """Request a page.

        Raises:
            WebError: The page could not be fetched.
        """
        client = await self._client.get()
        return await client.get(address, timeout_seconds)


def _create_client(config: WebConfig) -> WebClient:
    from acp_server.tools.web.http_client import HttpWebClient
    from acp_server.tools.web.network_backend import CheckedNetworkBackend
    from acp_server.tools.web.network_policy import build_network_policy

    return HttpWebClient(
        CheckedNetworkBackend(build_network_policy(config.allowed_private_hosts)), config.max_bytes
    )
