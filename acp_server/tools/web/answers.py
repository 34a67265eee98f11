"""What a site answered to one request, and the port through which sites are asked."""

from collections.abc import Mapping
from typing import Protocol

from acp_server.frozen import frozen
from acp_server.tools.web.addresses import WebAddress


@frozen
class Answer:
    """What a site answered."""

    status: int
    headers: Mapping[str, str]
    """By name in lower case; of several of one name the first."""
    body: bytes = b""
    is_cut: bool = False
    """Whether there was more than is wanted of any page."""


class Sites(Protocol):
    """Asks sites for pages."""

    async def get(self, address: WebAddress, timeout_seconds: float) -> Answer:
        """Ask for a page; follows no redirect.

        Raises:
            WebError: it cannot be had.
        """
        ...
