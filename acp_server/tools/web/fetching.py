"""Fetch a page: permission per site, redirects, and a short-lived cache.

Permission is an injected callback. Security: before it returns, nothing is resolved or connected.
"""

from collections import OrderedDict
from collections.abc import Awaitable, Callable

import anyio
from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.web.addresses import WebAddress, next_address
from acp_server.tools.web.errors import FetchError, WebError
from acp_server.tools.web.pages import Page, read_page
from acp_server.tools.web.responses import Answer, Sites

MOST_REDIRECTS = 5
KEPT_SECONDS = 15 * 60.0
MOST_KEPT = 16
MOST_KEPT_CHARACTERS = 4_000_000
_REDIRECTS = frozenset({301, 302, 303, 307, 308})

AskLeave = Callable[[WebAddress], Awaitable[None]]
"""Returns if an address may be fetched; raises `FetchDeniedError` otherwise."""


class LeaveRefusedError(WebError):
    """Permission for a site was denied; the text comes from the permission gate."""


@frozen
class _Kept:
    page: Page
    until: float


class PageCache:
    """Cache of recently fetched pages."""

    def __init__(self) -> None:
        self._kept: OrderedDict[WebAddress, _Kept] = OrderedDict()

    def get(self, address: WebAddress) -> Page | None:
        """Return a page unless it has expired."""
        kept = self._kept.get(address)
        return kept.page if kept is not None and kept.until > anyio.current_time() else None

    def keep(self, address: WebAddress, page: Page) -> None:
        """Store a page, and evict the oldest ones beyond the limits."""
        self._kept.pop(address, None)
        self._kept[address] = _Kept(page, anyio.current_time() + KEPT_SECONDS)
        while len(self._kept) > 1 and (len(self._kept) > MOST_KEPT or self._is_too_much):
            self._kept.popitem(last=False)

    @property
    def _is_too_much(self) -> bool:
        return sum(len(kept.page.text) for kept in self._kept.values()) > MOST_KEPT_CHARACTERS


class Fetcher:
    """Fetches pages for one session."""

    def __init__(self, sites: Sites, timeout_seconds: float) -> None:
        self._sites = sites
        self._timeout_seconds = timeout_seconds
        self._cache = PageCache()

    async def fetch(self, address: WebAddress, ask_leave: AskLeave) -> Page:
        """Return a page, from the cache or the network.

        Permission is asked for each site on the way. A cached page is returned without asking,
        because the model has already seen it. The timeout covers waiting for sites, not for the
        user.

        Raises:
            WebError: The page could not be fetched.
        """
        kept = self._cache.get(address)
        if kept is not None:
            return kept
        at, answer = await self._follow(address, ask_leave)
        page = await to_thread.run_sync(read_page, at, answer, abandon_on_cancel=True)
        if not page.is_error:
            self._cache.keep(address, page)
        return page

    async def _follow(self, address: WebAddress, ask_leave: AskLeave) -> tuple[WebAddress, Answer]:
        agreed = set[str]()
        left_seconds = self._timeout_seconds
        for _ in range(MOST_REDIRECTS + 1):
            # Security: checked in every round, because a redirect may lead to a site that the user
            # has not seen. Only then is its name resolved.
            if address.site not in agreed:
                await ask_leave(address)
                agreed.add(address.site)
            began = anyio.current_time()
            answer = await self._sites.get(address, left_seconds)
            left_seconds -= anyio.current_time() - began
            if answer.status not in _REDIRECTS or "location" not in answer.headers:
                return address, answer
            address = next_address(address, answer.headers["location"])
        raise FetchError(f"it leads on and on, more than {MOST_REDIRECTS} times")
