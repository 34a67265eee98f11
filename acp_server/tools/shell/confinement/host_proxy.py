"""Proxy on the sandbox's loopback by which confined commands reach the hosts that are allowed.

It listens in the private network of the session and connects from outside of it. The first request
for a host is asked about by name. Security: the name is resolved only after that, once, and the
connection goes to an address that was checked.
"""

import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from ipaddress import IPv4Address

import anyio
from anyio.abc import SocketAttribute, SocketListener, SocketStream

from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.proxy_requests import (
    BadRequestError,
    ProxyRequest,
    build_refusal,
    find_head,
    parse_request,
)
from acp_server.tools.shell.confinement.stream_copy import CHUNK_BYTES, connect_streams
from acp_server.tools.stream_server import serve_streams
from acp_server.tools.web.addresses import WebAddress
from acp_server.tools.web.network_policy import IpAddress, is_public, parse_ip_address

HEAD_SECONDS = 30.0
CONNECT_SECONDS = 30.0
MAX_ADDRESSES = 4
MAX_ORIGINS = 4_096
"""Older commands are forgotten, and reach nothing then."""
_FIRST_ADDRESS = int(IPv4Address("127.64.0.1"))
_MAX_NUMBER = 65_000
_OWN_HOSTS = "localhost,127.0.0.1,::1"
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"
NO_HOST = "{site} cannot be reached: {reason}"
NO_ADDRESS = "it has no address"
NOT_ALLOWED = "acp-server: connections to {site} are not allowed: {reason}"
METADATA = "link-local addresses, such as those of cloud metadata services, are never reached"

AskHost = Callable[[CommandOrigin, str, str], Awaitable[str]]
"""Asks whether a command may connect to a site, at an address unless that is a public one; returns
the reason if not."""
Resolver = Callable[[str, int], Awaitable[Sequence[str]]]
"""Returns the addresses of a host; raises `OSError`."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host in the system's order of preference."""
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


class _RefusedError(Exception):
    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class HostProxy:
    """The proxy of one session."""

    def __init__(self, ask: AskHost, resolver: Resolver = resolve) -> None:
        self._ask = ask
        self._resolve = resolver
        self.port: int | None = None
        """Where it listens; None before `start`."""
        self._scope = anyio.CancelScope()
        self._origins: dict[int, CommandOrigin] = {}
        self._count = 0

    @property
    def is_running(self) -> bool:
        """Whether `start` was called."""
        return self.port is not None

    async def start(self, listening: socket.socket) -> TaskFunction:
        """Return the task that serves a socket, which is bound and listens, until `close`."""
        self.port = int(listening.getsockname()[1])
        return partial(self._serve, await SocketListener.from_socket(listening))

    def close(self) -> None:
        """Stop serving, and end all connections."""
        self._scope.cancel()

    def variables(self, origin: CommandOrigin | None) -> Mapping[str, str]:
        """Return the variables by which the programs of a command find the proxy."""
        self._count = self._count % _MAX_NUMBER + 1
        if origin is not None:
            self._origins[self._count] = origin
            while len(self._origins) > MAX_ORIGINS:
                del self._origins[next(iter(self._origins))]
        # Each command has an address of its own, by which it is known who asks.
        url = f"http://{IPv4Address(_FIRST_ADDRESS + self._count)}:{self.port}"
        names = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
        return {
            **dict.fromkeys(names, url),
            **dict.fromkeys(("no_proxy", "NO_PROXY"), _OWN_HOSTS),
            **_PATIENCE,
        }

    async def _serve(self, listener: SocketListener) -> None:
        with self._scope:
            async with listener:
                await serve_streams(listener, self._handle)

    async def _handle(self, client: SocketStream) -> None:
        async with client:
            try:
                with anyio.fail_after(HEAD_SECONDS):
                    request = await _receive_request(client)
                await self._answer(client, request)
            except _RefusedError as refusal:
                await _send_last(client, build_refusal(refusal.status, refusal.reason))
            except BadRequestError as error:
                await _send_last(client, build_refusal("400", f"acp-server: {error}"))
            except (anyio.BrokenResourceError, anyio.EndOfStream, TimeoutError):
                return  # the client is gone, or does not speak

    async def _answer(self, client: SocketStream, request: ProxyRequest) -> None:
        origin = self._origin_of(client)
        host = await self._connect(origin, request.address)
        async with host:
            if request.is_tunnel:
                await client.send(ESTABLISHED)
            if request.first_bytes:
                await host.send(request.first_bytes)
            await connect_streams(client, host)

    def _origin_of(self, client: SocketStream) -> CommandOrigin:
        local_host = client.extra(SocketAttribute.local_address)[0]  # noqa: S610  no Django
        number = int(IPv4Address(local_host)) - _FIRST_ADDRESS
        if number in self._origins:
            return self._origins[number]
        reason = "no call of a tool runs this command, so the user cannot be asked"
        raise _RefusedError("403", f"acp-server: {reason}")

    async def _connect(self, origin: CommandOrigin, address: WebAddress) -> SocketStream:
        """Connect to a host once that is allowed.

        Raises:
            _RefusedError: It is not allowed, or cannot be reached.
        """
        site, host = address.site, address.host
        literal = _as_ip_address(host)
        if literal is None:
            # Security: before the name is resolved. A lookup alone can carry data away.
            await self._permit(origin, site, "")
        try:
            resolved = await self._resolve(host, address.port) if literal is None else [host]
            addresses = [parse_ip_address(each) for each in resolved][:MAX_ADDRESSES]
        except (OSError, ValueError) as error:
            raise _unreachable(origin, site, error) from error
        for each in addresses:
            await self._permit_address(origin, site, each, is_literal=literal is not None)
        failure: OSError | None = None
        for each in addresses:
            try:
                with anyio.fail_after(CONNECT_SECONDS):
                    return await anyio.connect_tcp(str(each), address.port)
            except OSError as error:  # also a timeout
                failure = error
        raise _unreachable(origin, site, failure)

    async def _permit_address(
        self, origin: CommandOrigin, site: str, address: IpAddress, *, is_literal: bool
    ) -> None:
        """Check an address: a name that was allowed must not lead into a private network."""
        if address.is_link_local:
            raise _RefusedError("403", NOT_ALLOWED.format(site=site, reason=METADATA))
        if not is_public(address):
            await self._permit(origin, site, str(address))
        elif is_literal:
            await self._permit(origin, site, "")

    async def _permit(self, origin: CommandOrigin, site: str, address: str) -> None:
        reason = await self._ask(origin, site, address)
        if reason:
            raise _RefusedError("403", NOT_ALLOWED.format(site=site, reason=reason))


_PATIENCE = {
    "PIP_DEFAULT_TIMEOUT": "600",
    "UV_HTTP_TIMEOUT": "600",
    "CARGO_HTTP_TIMEOUT": "600",
    "NODE_USE_ENV_PROXY": "1",
    # A host that this machine cannot reach would cost pip 8 s, and npm 70.
    "PIP_RETRIES": "2",
    "npm_config_fetch_retry_mintimeout": "500",
    "npm_config_fetch_retry_maxtimeout": "1000",
}
"""The first answer of a host may take as long as the user thinks about it."""


def _unreachable(origin: CommandOrigin, site: str, failure: Exception | None) -> _RefusedError:
    """Note that a site cannot be reached, and return the answer for the program."""
    message = getattr(failure, "strerror", None) or failure
    reason = str(message or NO_ADDRESS)
    origin.unreachable_sites[site] = reason
    return _RefusedError("502", NO_HOST.format(site=site, reason=reason))


async def _receive_request(client: SocketStream) -> ProxyRequest:
    received = b""
    while (head := find_head(received)) is None:
        received += await client.receive(CHUNK_BYTES)
    return parse_request(head, received[len(head) :])


async def _send_last(client: SocketStream, response: bytes) -> None:
    try:
        await client.send(response)
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        return


def _as_ip_address(host: str) -> IpAddress | None:
    try:
        return parse_ip_address(host)
    except ValueError:
        return None
