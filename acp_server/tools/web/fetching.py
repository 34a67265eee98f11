"""Fetch a page: permission per site, redirects, and a short-lived cache.

Permission is an injected callback. Security: before it returns, nothing is resolved or connected.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import anyio
from anyio import to_thread

from acp_server.tools.web.addresses import WebAddress, resolve_redirect
from acp_server.tools.web.errors import FetchError
from acp_server.tools.web.pages import WebPage, parse_page
from acp_server.tools.web.responses import WebClient

MAX_REDIRECTS = 5
CACHE_SECONDS = 15 * 60.0
MAX_CACHED_PAGES = 16
MAX_CACHED_CHARACTERS = 4_000_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

AskPermission = Callable[[WebAddress], Awaitable[None]]
"""Returns if an address may be fetched; raises an error otherwise."""


class PageCache:
    """Cache of recently fetched pages."""

    def __init__(self) -> None:
        self._entries: OrderedDict[WebAddress, tuple[WebPage, float]] = OrderedDict()
        """Pages with the times at which they expire."""

    def get(self, address: WebAddress) -> WebPage | None:
        """Return a page unless it has expired."""
        page, expires_at = self._entries.get(address, (None, 0.0))
        return page if expires_at > anyio.current_time() else None

    def put(self, address: WebAddress, page: WebPage) -> None:
        """Store a page, and evict the oldest ones beyond the limits."""
        self._entries.pop(address, None)
        self._entries[address] = page, anyio.current_time() + CACHE_SECONDS
        characters = sum(len(each.text) for each, _ in self._entries.values())
        while len(self._entries) > 1 and (
            len(self._entries) > MAX_CACHED_PAGES or characters > MAX_CACHED_CHARACTERS
        ):
            _, (evicted, _) = self._entries.popitem(last=False)
            characters -= len(evicted.text)


class PageFetcher:
    """Fetches pages for one session."""

    def __init__(self, client: WebClient, timeout_seconds: float) -> None:
        self._client = client
        self._timeout_seconds = timeout_seconds
        self._cache = PageCache()

    async def fetch(self, address: WebAddress, ask_permission: AskPermission) -> WebPage:
        """Return a page, from the cache or the network.

        Permission is asked for each site on the way. A cached page is returned without asking,
        because the model has already seen it. The timeout covers waiting for sites, not for the
        user.

        Raises:
            WebError: The page could not be fetched.
        """
        cached = self._cache.get(address)
        if cached is not None:
            return cached
        final_address = address
        permitted_sites = set[str]()
        left_seconds = self._timeout_seconds
        for _ in range(MAX_REDIRECTS + 1):
            # Security: checked in every round, because a redirect may lead to a site that the user
            # has not seen. Only then is its name resolved.
            if final_address.site not in permitted_sites:
                await ask_permission(final_address)
                permitted_sites.add(final_address.site)
            started_at = anyio.current_time()
            response = await self._client.get(final_address, left_seconds)
            left_seconds -= anyio.current_time() - started_at
            if response.status not in _REDIRECTS or "location" not in response.headers:
                break
            final_address = resolve_redirect(final_address, response.headers["location"])
        else:
            raise FetchError(f"it redirects more than {MAX_REDIRECTS} times")
        page = await to_thread.run_sync(parse_page, final_address, response, abandon_on_cancel=True)
        if not page.is_error:
            self._cache.put(address, page)
        return page
