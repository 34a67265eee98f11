"""Connections that go to the very address that was checked.

A host is looked up once, for the connection itself: what was looked at is what is connected to, so
a name that leads elsewhere a moment later gains nothing. No proxy is used, and no socket of a file.
"""

import socket
from collections.abc import Awaitable, Callable, Iterable, Sequence

import anyio
from httpcore2 import (
    SOCKET_OPTION,
    AnyIOBackend,
    AsyncNetworkBackend,
    AsyncNetworkStream,
    ConnectError,
    ConnectTimeout,
)

from acp_server.tools.web.errors import FetchError, ForbiddenError
from acp_server.tools.web.networks import IpAddress, Reach, parsed_address

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host, or raises `OSError`."""
MOST_ADDRESSES = 4
FORBIDDEN = (
    "{host} leads to {address}, which is no address of the public internet; "
    "only the user can allow it, with the setting web.allow_private"
)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, in the order in which the system would try them."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class CheckedNetwork(AsyncNetworkBackend):
    """Connects where that is allowed."""

    def __init__(self, reach: Reach, look_up: Resolve = resolve) -> None:
        self._reach = reach
        self._look_up = look_up
        self._plain = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """Look a host up and connect to what was found; refused if any of it is forbidden.

        Raises:
            ForbiddenError: it leads into a private network.
            FetchError: it leads nowhere, or nobody answers there.
        """
        failure: ConnectError | ConnectTimeout | None = None
        for address in await self._allowed(host, port):
            try:
                return await self._plain.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (ConnectError, ConnectTimeout) as error:
                failure = error
        raise FetchError(f"nobody answers at {host}, port {port}") from failure

    async def _allowed(self, host: str, port: int) -> Sequence[IpAddress]:
        try:
            found = [parsed_address(each) for each in await self._look_up(host, port)]
        except (OSError, ValueError) as error:
            raise FetchError(f"there is no host {host}, or it cannot be looked up") from error
        for address in found:
            if not self._reach.covers(host, address):
                raise ForbiddenError(FORBIDDEN.format(host=host, address=address))
        return found[:MOST_ADDRESSES]
