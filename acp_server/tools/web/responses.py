"""Response of a site to one request, and the client port that makes requests."""

from collections.abc import Mapping
from typing import Protocol

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.web.addresses import WebAddress


@frozen_dataclass
class WebResponse:
    """A site's response."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name; of repeated headers the first."""
    body: bytes = b""
    is_truncated: bool = False
    """Whether the body was longer than the limit."""


class WebClient(Protocol):
    """Client port for GET requests."""

    async def get(self, address: WebAddress, timeout_seconds: float) -> WebResponse:
        """Request a page without following redirects.

        Raises:
            WebError: The page could not be fetched.
        """
        ...
