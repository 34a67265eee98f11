"""Response of a site to one request, and the client port that makes requests."""

from collections.abc import Mapping
from typing import Protocol

from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.web.addresses import WebAddress


@frozen
class Answer:
    """A site's response."""

    status: int
    headers: Mapping[str, str]
    """By lower-case name; of repeated headers the first."""
    body: bytes = b""
    is_cut: bool = False
    """Whether the body was longer than the limit."""


class Sites(Protocol):
    """Client port for GET requests."""

    async def get(self, address: WebAddress, timeout_seconds: float) -> Answer:
        """Request a page without following redirects.

        Raises:
            WebError: The page could not be fetched.
        """
        ...
