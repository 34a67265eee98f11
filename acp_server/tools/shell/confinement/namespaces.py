"""The network namespace that all confined commands of one session share.

A server that one command starts is reachable by the next, and by nothing outside. A holder process
(`launcher.pl`) creates the namespace at the session's first confined command. Commands join it by
the holder's files in /proc (this process's own cannot be opened by others), and the holder hands
out sockets of it. It ends when its pipe closes, so also when this process is killed. This process
keeps the namespace by file descriptors, so that another holder can take its place.
"""

import errno
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from socket import AddressFamily
from subprocess import DEVNULL

import anyio
from anyio.abc import Process

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.launchers import SandboxLauncher
from acp_server.tools.shell.errors import ShellError

HOLDER_SECONDS = 5.0
"""Upper bound of the holder's start, of its answers and of its end."""
_NAMESPACES = ("user", "net")
"""In the order in which they are joined: the user namespace gives the right to join the others."""
NO_SOCKET = "the private network of the sandbox does not answer"
_LISTENING = "0A"
"""TCP_LISTEN in the tables of /proc/net."""


class SessionNamespaces:
    """Creates the namespace of one session at its first use, and holds it until `close`."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Prepare; only PATH is used of the environment."""
        self._path = environment.get("PATH", os.defpath)
        self._lock = anyio.Lock()
        self._holder: _Holder | None = None
        self._descriptors: tuple[int, ...] = ()
        self._is_tried = False
        self._is_closed = False

    @property
    def is_unavailable(self) -> bool:
        """Whether the system has refused a namespace."""
        return self._is_tried and not self._descriptors

    async def files(self, launcher: SandboxLauncher) -> tuple[str, ...]:
        """Return the files by which a command joins; none if the system has no namespaces.

        Raises:
            ShellError: The holder has died and cannot be replaced.
        """
        # Single-flight: concurrent first commands must join the same namespace.
        async with self._lock:
            if not self._is_tried and not self._is_closed:
                await self._create(launcher)
                self._is_tried = True
            for _ in range(2):
                if self._holder is not None and self._holder.has_ended:
                    await self._drop_holder()
                if self._descriptors and self._holder is None:
                    self._holder = await self._start_holder(launcher)
                try:
                    return () if self._holder is None else self._holder.namespaces
                except OSError:  # it has died a moment ago: another one takes its place
                    await self._drop_holder()
            raise ShellError(NO_SOCKET)

    async def open_socket(
        self, launcher: SandboxLauncher, family: AddressFamily = AddressFamily.AF_INET
    ) -> socket.socket:
        """Return a new TCP socket of the namespace, not yet bound or connected.

        Raises:
            ShellError: There is no namespace, or its holder has died and cannot be replaced.
            OSError: The system has no sockets of this family.
        """
        await self.files(launcher)
        descriptors: list[int] | None = None
        async with self._lock:
            for _ in range(2):
                holder = self._holder = self._holder or await self._start_holder(launcher)
                descriptors = None if holder is None else await holder.request_socket(family)
                if holder is None or descriptors is not None:
                    break
                await self._drop_holder()
        if descriptors is None:
            raise ShellError(NO_SOCKET)
        if not descriptors:
            raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
        return socket.socket(fileno=descriptors[0])

    def listening_ports(self) -> Sequence[int]:
        """Return the TCP ports in the namespace that accept connections, in order. Blocks."""
        if self._holder is None:
            return ()
        tables = Path(f"/proc/{self._holder.process.pid}/net")
        return sorted({port for name in ("tcp", "tcp6") for port in _read_ports(tables / name)})

    async def close(self) -> None:
        """Let go of the namespace; it ends with the last command in it."""
        # Shielded: the server shuts down here, and the holder must be reaped.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                self._is_closed = True
                descriptors, self._descriptors = self._descriptors, ()
                for descriptor in descriptors:
                    os.close(descriptor)
                await self._drop_holder()

    async def _create(self, launcher: SandboxLauncher) -> None:
        self._holder = await self._start_holder(launcher)
        if self._holder is None:
            return
        try:
            files = self._holder.namespaces
            self._descriptors = tuple(os.open(each, os.O_RDONLY) for each in files)
        except OSError:  # it has died at once
            await self._drop_holder()

    async def _drop_holder(self) -> None:
        holder, self._holder = self._holder, None
        if holder is not None:
            await holder.close()

    async def _start_holder(self, launcher: SandboxLauncher) -> "_Holder | None":
        if launcher.hold_arguments is None or self._is_closed:
            return None
        # A holder that takes the place of another joins what this process keeps.
        kept = self._descriptors
        arguments = launcher.hold_arguments([f"/proc/self/fd/{each}" for each in kept])
        return await _Holder.start(arguments, {"PATH": self._path, "LC_ALL": "C"}, kept)


@frozen_dataclass
class _Holder:
    """The holder process, and our end of its pipe."""

    process: Process
    pipe: socket.socket

    @property
    def has_ended(self) -> bool:
        return self.process.returncode is not None

    @property
    def namespaces(self) -> tuple[str, ...]:
        """The files of its namespaces that are not those of this process.

        A process with the rights of root makes no user namespace, and its own cannot be joined.

        Raises:
            OSError: It has ended.
        """
        own, its = Path("/proc/self/ns"), Path(f"/proc/{self.process.pid}/ns")
        names = [name for name in _NAMESPACES if not (its / name).samefile(own / name)]
        return tuple(str(its / name) for name in names)

    @classmethod
    async def start(
        cls,
        arguments: tuple[str, ...],
        environment: Mapping[str, str],
        inherited: tuple[int, ...],
    ) -> "_Holder | None":
        """Start it; None if it cannot have what it is to hold."""
        pipe, child_end = socket.socketpair()
        pipe.setblocking(False)  # noqa: FBT003  the standard library's own signature
        with child_end:
            try:
                process = await anyio.open_process(
                    arguments,
                    stdin=child_end.fileno(),
                    stdout=DEVNULL,
                    stderr=DEVNULL,
                    cwd="/",
                    env=environment,
                    # Signals of the server's terminal (Ctrl-C) do not reach it.
                    start_new_session=True,
                    pass_fds=inherited,
                )
            except OSError:
                pipe.close()
                return None
        holder = cls(process, pipe)
        if await holder._receive() is not None:
            return holder
        await holder.close()
        return None

    async def request_socket(self, family: AddressFamily) -> list[int] | None:
        """Return the descriptor of a new socket, none without this family; None if it has died."""
        try:
            self.pipe.send(b"6" if family == AddressFamily.AF_INET6 else b"4")
        except OSError:
            return None
        return await self._receive()

    async def _receive(self) -> list[int] | None:
        """Return the descriptors that come with the next byte; None if the holder has ended."""
        with anyio.move_on_after(HOLDER_SECONDS), suppress(OSError):
            await anyio.wait_readable(self.pipe)
            data, descriptors, _, _ = socket.recv_fds(self.pipe, 1, 1)
            return descriptors if data else None
        return None

    async def close(self) -> None:
        self.pipe.close()
        with anyio.move_on_after(HOLDER_SECONDS):
            await self.process.wait()
            return
        self.process.kill()


def _read_ports(table: Path) -> Iterator[int]:
    """Yield the listening ports of a table such as /proc/net/tcp; none if it cannot be read."""
    try:
        rows = table.read_text(encoding="ascii").splitlines()[1:]
    except OSError:  # the holder has died, or there is no IPv6
        return
    for row in rows:
        _, local, _, state, *_ = row.split()
        if state == _LISTENING:
            yield int(local.rpartition(":")[2], 16)
