"""Lazy web client: imports the HTTP libraries in a thread, at the first request."""

import anyio
from anyio import to_thread

from acp_server.tools.lazy_imports import WebRules
from acp_server.tools.web.addresses import WebAddress
from acp_server.tools.web.responses import Answer, Sites


class LazySites:
    """Client whose implementation is imported at the first request."""

    def __init__(self, rules: WebRules) -> None:
        self._rules = rules
        self._lock = anyio.Lock()
        self._sites: Sites | None = None

    async def get(self, address: WebAddress, timeout_seconds: float) -> Answer:
        """Request a page.

        Raises:
            WebError: The page could not be fetched.
        """
        # Single-flight: concurrent first requests share one import. The request itself runs outside
        # the lock.
        async with self._lock:
            if self._sites is None:
                self._sites = await to_thread.run_sync(_import, self._rules)
        return await self._sites.get(address, timeout_seconds)


def _import(rules: WebRules) -> Sites:
    from acp_server.tools.web.http_client import Exchange
    from acp_server.tools.web.network_backend import CheckedNetwork
    from acp_server.tools.web.network_policy import reach_of

    return Exchange(CheckedNetwork(reach_of(rules.allow_private)), rules.most_bytes)
