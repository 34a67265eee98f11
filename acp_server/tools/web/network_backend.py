"""Network backend that connects only to the address that was checked.

Security: a host is resolved once, and the connection goes to the resolved address that passed the
check, so a later DNS answer cannot redirect it (DNS rebinding). It uses neither proxies nor Unix
sockets.
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
from acp_server.tools.web.network_policy import IpAddress, NetworkPolicy, parse_ip_address

Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host; raises `OSError`."""
MAX_ADDRESSES = 4
FORBIDDEN_ADDRESS = (
    "{host} has the address {address}, which is not on the public internet; "
    "only the user can allow it, with the setting web.allow_private"
)


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host in the system's order of preference."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class CheckedNetworkBackend(AsyncNetworkBackend):
    """Network backend that refuses addresses that are not allowed."""

    def __init__(self, policy: NetworkPolicy, resolver: Resolver = resolve) -> None:
        self._policy = policy
        self._resolver = resolver
        self._backend = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's own signature
        local_address: str | None = None,
        socket_options: Iterable[SOCKET_OPTION] | None = None,
    ) -> AsyncNetworkStream:
        """Resolve a host and connect; refuse if any of its addresses is forbidden.

        Raises:
            ForbiddenError: The host has an address in a private network.
            FetchError: The host does not exist or does not answer.
        """
        failure: ConnectError | ConnectTimeout | None = None
        for address in await self._resolve_allowed(host, port):
            try:
                return await self._backend.connect_tcp(
                    str(address), port, timeout, local_address, socket_options
                )
            except (ConnectError, ConnectTimeout) as error:
                failure = error
        raise FetchError(f"nothing answers at {host}, port {port}") from failure

    async def _resolve_allowed(self, host: str, port: int) -> Sequence[IpAddress]:
        try:
            addresses = [parse_ip_address(each) for each in await self._resolver(host, port)]
        except (OSError, ValueError) as error:
            raise FetchError(f"there is no host {host}, or it cannot be looked up") from error
        # Security: all addresses must be allowed, not only the first. Otherwise a host could list a
        # public and a private one and let the connection fall back.
        for address in addresses:
            if not self._policy.allows(host, address):
                raise ForbiddenError(FORBIDDEN_ADDRESS.format(host=host, address=address))
        return addresses[:MAX_ADDRESSES]
