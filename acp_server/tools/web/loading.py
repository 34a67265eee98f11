"""Imports what speaks HTTP in a thread, the first time that a page is wanted."""

import anyio
from anyio import to_thread

from acp_server.tools.loading import WebRules
from acp_server.tools.web.addresses import WebAddress
from acp_server.tools.web.answers import Answer, Sites


class LazySites:
    """Asks sites, with what was imported for the first of them."""

    def __init__(self, rules: WebRules) -> None:
        self._rules = rules
        self._lock = anyio.Lock()
        self._sites: Sites | None = None

    async def get(self, address: WebAddress, timeout_seconds: float) -> Answer:
        """Ask for a page.

        Raises:
            WebError: it cannot be had.
        """
        async with self._lock:
            if self._sites is None:
                self._sites = await to_thread.run_sync(_import, self._rules)
        return await self._sites.get(address, timeout_seconds)


def _import(rules: WebRules) -> Sites:
    from acp_server.tools.web.connecting import CheckedNetwork
    from acp_server.tools.web.exchange import Exchange
    from acp_server.tools.web.networks import reach_of

    return Exchange(CheckedNetwork(reach_of(rules.allow_private)), rules.most_bytes)
