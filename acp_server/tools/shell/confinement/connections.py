"""Makes the connections of a session's confined commands, so that they may have Unix sockets.

The kernel cannot tell by its filters where a Unix socket connects to. So it stops each `connect` of
a confined command and asks this process, which copies the address, checks it, and connects the very
socket itself. Security: the command is never let go on with its own call, because it could exchange
the address or the socket after the check. And it decides how long the system calls here take: by
the flags of its socket, and by what is behind its memory and its paths. So they run in threads.

Allowed are internet addresses, which the network of the command bounds, and Unix sockets below the
session's temporary directory. The user is asked about sockets of known services (`unix_services`);
all others are refused.
"""

import errno
import os
import socket
import struct
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from io import FileIO
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.seccomp_questions import (
    ConnectCall,
    answer_call,
    connect_raw,
    has_ended,
    is_waiting,
    open_socket_of,
    read_address,
    receive_call,
    working_directory_of,
)

MAX_COMMANDS = 4_096
"""Commands that have not announced themselves; older ones are forgotten, and connect to nothing."""
ANNOUNCE_SECONDS = 10.0
RETRY_SECONDS = 0.01
"""Pause between two attempts to connect to a server whose queue is full."""
MAX_CALLS = 64
"""Calls of one command that are answered at the same time; each holds a descriptor."""
MAX_THREADS = 8
"""Threads of one session that may be blocked at the same time."""
_MAX_LINE_BYTES = 32
_INTERNET = frozenset({socket.AF_INET, socket.AF_INET6})

Result = TypeVar("Result")
AskSocket = Callable[[CommandOrigin, Path], Awaitable[bool]]
"""Returns whether a command may connect to a Unix socket outside of the session's directory."""


@dataclass(slots=True)
class _Command:
    """A command whose connections are made here."""

    origin: CommandOrigin | None
    has_own_network: bool
    """Whether abstract Unix sockets in its network are those of the session's commands."""


class CommandConnections:
    """Makes the connections of one session's confined commands."""

    def __init__(
        self,
        directory: Callable[[], Path],
        ask: AskSocket,
        spawn: Callable[[TaskFunction], object],
    ) -> None:
        """Prepare; `directory` returns the session's temporary directory, and may block.

        `spawn` runs tasks of the session.
        """
        self._directory = directory
        self._ask = ask
        self._spawn = spawn
        self._lock = anyio.Lock()
        self._scope = anyio.CancelScope()
        self._place: tempfile.TemporaryDirectory[str] | None = None
        self._path = ""
        self._commands: dict[int, _Command] = {}
        self._count = 0
        self._threads = anyio.CapacityLimiter(MAX_THREADS)

    async def register(self, origin: CommandOrigin | None, *, has_own_network: bool) -> str:
        """Return where the launcher of a command announces it; empty if that cannot be had."""
        async with self._lock:
            if self._place is None:
                try:
                    listening = await to_thread.run_sync(self._listen)
                except OSError:
                    return ""
                self._spawn(partial(self._serve, listening))
        self._count += 1
        self._commands[self._count] = _Command(origin, has_own_network)
        while len(self._commands) > MAX_COMMANDS:
            del self._commands[next(iter(self._commands))]
        return f"{self._count}:{os.getpid()}:{self._path}"

    async def close(self) -> None:
        """Refuse all that wait, and end."""
        self._scope.cancel()
        # Shielded: a session that is closed by a cancelled task must not leave its directory
        # behind, nor one that a command is just about to get.
        with anyio.CancelScope(shield=True):
            async with self._lock:
                if self._place is not None:
                    await to_thread.run_sync(self._place.cleanup)

    def _listen(self) -> socket.socket:
        """Return a listening socket in a directory that no command may write."""
        parent = self._directory().parent
        self._place = tempfile.TemporaryDirectory(prefix="acp-", dir=parent)
        self._path = str(Path(self._place.name).resolve() / "s")
        with ExitStack() as stack:
            listening = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listening.bind(self._path)
            listening.listen(128)
            listening.setblocking(False)  # noqa: FBT003  the standard library's own signature
            stack.pop_all()
            return listening

    async def _serve(self, listening: socket.socket) -> None:
        with self._scope, listening:
            async with anyio.create_task_group() as tasks:
                while True:
                    await anyio.wait_readable(listening)
                    try:
                        tasks.start_soon(self._receive, listening.accept()[0])
                    except OSError:  # it is gone again, or no descriptors are left
                        await anyio.sleep(RETRY_SECONDS)

    async def _receive(self, announcing: socket.socket) -> None:
        """Receive a command's number and the descriptor of its calls; answer them to its end."""
        line, descriptors = b"", list[int]()
        with announcing, anyio.move_on_after(ANNOUNCE_SECONDS), suppress(OSError):
            await anyio.wait_readable(announcing)
            line, descriptors, _, _ = socket.recv_fds(announcing, _MAX_LINE_BYTES, 1)
        if not descriptors:
            return
        number = line.strip()
        command = self._commands.pop(int(number), None) if number.isdigit() else None
        try:
            if command is not None:
                await self._answer_calls(descriptors[0], command)
        finally:
            # Further calls of the command, if any, fail with ENOSYS.
            os.close(descriptors[0])

    async def _answer_calls(self, listener: int, command: _Command) -> None:
        slots = anyio.Semaphore(MAX_CALLS)
        async with anyio.create_task_group() as tasks:
            while True:
                await anyio.wait_readable(listener)
                if has_ended(listener):
                    break
                if slots.value == 0:  # the others wait in the system's queue
                    await anyio.sleep(RETRY_SECONDS)
                    continue
                call = receive_call(listener)
                if call is not None:
                    slots.acquire_nowait()
                    tasks.start_soon(self._answer, listener, call, command, slots)
            tasks.cancel_scope.cancel()

    async def _answer(
        self, listener: int, call: ConnectCall, command: _Command, slots: anyio.Semaphore
    ) -> None:
        try:
            socket_and_address = await self._run_in_thread(partial(_read_call, listener, call))
            if socket_and_address is None:
                return
            connecting, address = socket_and_address
            with connecting:
                error = await self._connect(listener, call, connecting, address, command)
        except OSError as failure:
            error = failure.errno or errno.EACCES
        finally:
            slots.release()
        answer_call(listener, call, error)

    async def _run_in_thread(self, function: Callable[[], Result]) -> Result:
        """Run what the command can make block."""
        return await to_thread.run_sync(function, abandon_on_cancel=True, limiter=self._threads)

    async def _may_leave(self, command: _Command, path: Path) -> bool:
        return command.origin is not None and await self._ask(command.origin, path)

    async def _connect(  # noqa: PLR0911  one per kind of address
        self,
        listener: int,
        call: ConnectCall,
        connecting: socket.socket,
        address: bytes,
        command: _Command,
    ) -> int:
        """Connect a socket if that is allowed; return the error number, 0 without.

        Raises:
            OSError: The address leads nowhere.
        """
        if connecting.family in _INTERNET:
            error = await self._run_in_thread(partial(_connect_at_once, connecting, address))
            if error != errno.EINPROGRESS or not os.get_blocking(connecting.fileno()):
                return error
            await anyio.wait_writable(connecting)
            return connecting.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if connecting.family != socket.AF_UNIX:
            return errno.EPERM
        family, name = struct.unpack("=H", address[:2])[0], address[2:]
        if family != socket.AF_UNIX or not name:
            return errno.EINVAL
        if name.startswith(b"\0"):
            if not command.has_own_network:
                return errno.EACCES
            return await self._connect_patiently(listener, call, connecting, address)
        path = Path(os.fsdecode(name.partition(b"\0")[0]))
        directory = await to_thread.run_sync(self._directory)
        with await self._run_in_thread(partial(_open_target, call, path)) as target:
            entry = f"/proc/self/fd/{target.fileno()}"
            real = Path(entry).readlink()  # noqa: ASYNC240  of a descriptor, no disk is read
            if not (real.is_relative_to(directory) or await self._may_leave(command, real)):
                return errno.EACCES
            checked = struct.pack("=H", family) + os.fsencode(entry)
            return await self._connect_patiently(listener, call, connecting, checked)

    async def _connect_patiently(
        self, listener: int, call: ConnectCall, connecting: socket.socket, address: bytes
    ) -> int:
        """Connect a Unix socket as its owner would; return the error number, 0 without."""
        while True:
            error = await self._run_in_thread(partial(_connect_at_once, connecting, address))
            # Its queue is full: a blocking socket waits.
            if error != errno.EAGAIN or not os.get_blocking(connecting.fileno()):
                return error
            await anyio.sleep(RETRY_SECONDS)
            if not is_waiting(listener, call):
                return error


def _read_call(listener: int, call: ConnectCall) -> tuple[socket.socket, bytes] | None:
    """Return the socket and the address of a call; None if it has ended.

    Raises:
        OSError: It has no socket, or no address.
    """
    with ExitStack() as stack:
        connecting = stack.enter_context(open_socket_of(call))
        address = read_address(call)
        # Only now is it certain that both are those of the caller: its number may have been given
        # to another thread before.
        if not is_waiting(listener, call):
            return None
        stack.pop_all()
        return connecting, address


def _open_target(call: ConnectCall, path: Path) -> FileIO:
    """Open the file itself, wherever links lead.

    What is checked is then what is connected to.

    Raises:
        OSError: There is none.
    """
    # An object that closes itself: if the call is withdrawn, nobody takes the result.
    return FileIO(working_directory_of(call) / path, opener=_open_path)


def _open_path(path: str, flags: int) -> int:
    del flags
    return os.open(path, os.O_PATH | os.O_CLOEXEC)


def _connect_at_once(connecting: socket.socket, address: bytes) -> int:
    """Connect without waiting; return the error number, 0 if there is none."""
    descriptor = connecting.fileno()
    if not os.get_blocking(descriptor):
        return connect_raw(connecting, address)
    # The flag belongs to the socket, which is the command's as well: only for this one call.
    os.set_blocking(descriptor, False)
    try:
        return connect_raw(connecting, address)
    finally:
        os.set_blocking(descriptor, True)
