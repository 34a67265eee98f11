"""The network namespace that all confined commands of one session share.

A server that one command starts is reachable by the next, and by nothing outside. A holder process
(`launcher.pl`) creates the namespace at the session's first confined command. This process keeps
the namespace by file descriptors, by which commands join it. The holder only hands out sockets of
it, and ends when its pipe closes, so also when this process is killed.
"""

import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
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
        """Return the files by which a command joins; none if the system has no namespaces."""
        # Single-flight: concurrent first commands must join the same namespace.
        async with self._lock:
            if not self._is_tried and not self._is_closed:
                await self._create(launcher)
                self._is_tried = True
        return self._join_files()

    async def open_socket(self, launcher: SandboxLauncher) -> socket.socket:
        """Return a new TCP socket (IPv4) of the namespace, not yet bound or connected.

        Raises:
            ShellError: There is no namespace, or its holder has died and cannot be replaced.
        """
        await self.files(launcher)
        async with self._lock:
            for _ in range(2):
                if self._holder is None:
                    self._holder = await self._start_holder(launcher)
                if self._holder is None:
                    break
                found = await self._holder.open_socket()
                if found is not None:
                    return found
                await self._holder.close()
                self._holder = None
        raise ShellError(NO_SOCKET)

    async def close(self) -> None:
        """Let go of the namespace; it ends with the last command in it."""
        # Shielded: the server shuts down here, and the holder must be reaped.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                self._is_closed = True
                holder, self._holder = self._holder, None
                descriptors, self._descriptors = self._descriptors, ()
                for descriptor in descriptors:
                    os.close(descriptor)
                if holder is not None:
                    await holder.close()

    def _join_files(self) -> tuple[str, ...]:
        # By the process id: the editor may be the parent of the command.
        return tuple(f"/proc/{os.getpid()}/fd/{each}" for each in self._descriptors)

    async def _create(self, launcher: SandboxLauncher) -> None:
        self._holder = await self._start_holder(launcher)
        if self._holder is None:
            return
        directory = Path(f"/proc/{self._holder.process.pid}/ns")
        try:
            own = {name: (Path("/proc/self/ns") / name).stat().st_ino for name in _NAMESPACES}
            # A process with the rights of root makes no user namespace; its own cannot be joined.
            names = [name for name in _NAMESPACES if (directory / name).stat().st_ino != own[name]]
            self._descriptors = tuple(os.open(directory / name, os.O_RDONLY) for name in names)
        except OSError:  # it has died at once
            await self._holder.close()
            self._holder = None

    async def _start_holder(self, launcher: SandboxLauncher) -> "_Holder | None":
        if launcher.hold_arguments is None or self._is_closed:
            return None
        arguments = launcher.hold_arguments(self._join_files())
        return await _Holder.start(arguments, {"PATH": self._path, "LC_ALL": "C"})


@frozen_dataclass
class _Holder:
    """The holder process, and our end of its pipe."""

    process: Process
    pipe: socket.socket

    @classmethod
    async def start(
        cls, arguments: tuple[str, ...], environment: Mapping[str, str]
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
                )
            except OSError:
                pipe.close()
                return None
        holder = cls(process, pipe)
        if await holder._receive() is not None:
            return holder
        await holder.close()
        return None

    async def open_socket(self) -> socket.socket | None:
        """Return a new socket of its network; None if it has died."""
        try:
            self.pipe.send(b"s")
        except OSError:
            return None
        descriptors = await self._receive()
        return socket.socket(fileno=descriptors[0]) if descriptors else None

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
