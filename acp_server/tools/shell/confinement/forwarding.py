"""Makes ports of a session's private network reachable from this machine, under 127.0.0.1.

The server itself connects to the port in the network, for each connection that it accepts on the
machine. Nothing leads the other way.
"""

import errno
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack
from functools import partial
from socket import AddressFamily

import anyio
from anyio.abc import SocketListener, SocketStream

from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.stream_copy import connect_streams
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.stream_server import serve_streams

MACHINE_ADDRESS = "127.0.0.1"
CONNECT_SECONDS = 10.0
_LOOPBACK: Mapping[AddressFamily, str] = {
    AddressFamily.AF_INET: "127.0.0.1",
    # Some servers listen on the first address of `localhost` only, which may be this one.
    AddressFamily.AF_INET6: "::1",
}
_TAKEN = frozenset({errno.EADDRINUSE, errno.EACCES, errno.EPERM, errno.EADDRNOTAVAIL})
"""Errors of a port of this machine that is in use, or reserved for root."""

OpenSocket = Callable[[AddressFamily], Awaitable[socket.socket]]
"""Returns a new TCP socket of the private network; raises `OSError`."""


@frozen_dataclass
class ForwardedPort:
    """A port of the private network that this machine reaches."""

    port: int
    machine_port: int
    """Another one if the same port of this machine is in use."""

    @property
    def url(self) -> str:
        """The address for a browser, if it is a web server."""
        return f"http://{MACHINE_ADDRESS}:{self.machine_port}/"


class PortForwarder:
    """The forwarded ports of one session."""

    def __init__(self, open_socket: OpenSocket, spawn: Callable[[TaskFunction], None]) -> None:
        """Prepare; `spawn` runs tasks of the session."""
        self._open_socket = open_socket
        self._spawn = spawn
        self._lock = anyio.Lock()
        self._ports: dict[int, tuple[ForwardedPort, anyio.CancelScope]] = {}

    @property
    def ports(self) -> Mapping[int, ForwardedPort]:
        """The forwarded ports by port of the private network, oldest first."""
        return {port: forwarded for port, (forwarded, _) in self._ports.items()}

    async def start(self, port: int) -> ForwardedPort:
        """Make a port reachable until `stop` or `close`; returns at once if it is already.

        Raises:
            OSError: This machine has no free port.
        """
        async with self._lock:
            if port in self._ports:
                return self._ports[port][0]
            listening = _listen(port)
            forwarded = ForwardedPort(port, int(listening.getsockname()[1]))
            scope = anyio.CancelScope()
            listener = await SocketListener.from_socket(listening)
            self._ports[port] = forwarded, scope
            self._spawn(partial(self._serve, listener, port, scope))
            return forwarded

    def stop(self, port: int) -> bool:
        """End the forwarding of a port and its connections; return whether there was one."""
        forwarded, scope = self._ports.pop(port, (None, None))
        if scope is not None:
            scope.cancel()
        return forwarded is not None

    def close(self) -> None:
        """End all."""
        for port in tuple(self._ports):
            self.stop(port)

    async def _serve(self, listener: SocketListener, port: int, scope: anyio.CancelScope) -> None:
        with scope:
            async with listener:
                await serve_streams(listener, partial(self._handle, port))

    async def _handle(self, port: int, client: SocketStream) -> None:
        async with client:
            try:
                server = await self._connect(port)
            except (OSError, ShellError):
                return  # nothing listens there; the client sees the end of its connection
            async with server:
                await connect_streams(client, server)

    async def _connect(self, port: int) -> SocketStream:
        """Connect to a port in the private network.

        Raises:
            OSError: Nothing listens there.
            ShellError: The network is gone.
        """
        failure = OSError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        for family, address in _LOOPBACK.items():
            try:
                with anyio.fail_after(CONNECT_SECONDS):
                    return await _connect_socket(await self._open_socket(family), address, port)
            except OSError as error:  # also a timeout
                failure = error
        raise failure


def _listen(port: int) -> socket.socket:
    """Return a listening socket of this machine: on the same port, or a free one if it is taken."""
    try:
        return socket.create_server((MACHINE_ADDRESS, port))
    except OSError as error:
        if error.errno not in _TAKEN:
            raise
        return socket.create_server((MACHINE_ADDRESS, 0))


async def _connect_socket(unconnected: socket.socket, address: str, port: int) -> SocketStream:
    with ExitStack() as stack:
        stack.enter_context(unconnected)
        unconnected.setblocking(False)  # noqa: FBT003  the standard library's own signature
        code = unconnected.connect_ex((address, port))
        if code == errno.EINPROGRESS:
            await anyio.wait_writable(unconnected)
            code = unconnected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
        stream = await SocketStream.from_socket(unconnected)
        stack.pop_all()  # from here on it belongs to the stream
        return stream
