"""The kernel's interface to a seccomp filter that asks about system calls, for `connect` alone.

Layouts and numbers are those of 64-bit Linux (`linux/seccomp.h`), the same on x86 and ARM.
"""

import ctypes
import errno
import fcntl
import os
import select
import socket
import struct
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass

_NOTIFICATION = struct.Struct("=QII iIQ 6Q")
"""id, pid, flags; number of the call, architecture, instruction, six arguments."""
_RESPONSE = struct.Struct("=QqiI")
"""id, value, negative error number, flags."""
_RECEIVE, _SEND, _IS_VALID = 0xC0502100, 0xC0182101, 0x40082102
_PIDFD_GETFD = 438
MIN_ADDRESS_BYTES, MAX_ADDRESS_BYTES = 2, 128
"""sizeof(sa_family_t) and sizeof(struct sockaddr_storage)."""


@frozen_dataclass
class ConnectCall:
    """A call of `connect` that waits for its result."""

    id: int
    thread: int
    descriptor: int
    address: int
    """Where the address is in the memory of the thread."""
    length: int


def has_ended(listener: int) -> bool:
    """Return whether all processes under the filter have ended."""
    poll = select.poll()
    poll.register(listener, 0)
    return any(events & select.POLLHUP for _, events in poll.poll(0))


def receive_call(listener: int) -> ConnectCall | None:
    """Return the next call; None if it was withdrawn. Blocks unless there was one to read."""
    buffer = bytearray(_NOTIFICATION.size)
    try:
        fcntl.ioctl(listener, _RECEIVE, buffer)
    except OSError:  # interrupted, or its process has ended
        return None
    call_id, thread, _, _, _, _, descriptor, address, length, *_ = _NOTIFICATION.unpack(buffer)
    # The arguments are registers, of which `connect` reads the lower half as int.
    return ConnectCall(call_id, thread, descriptor & 0xFFFFFFFF, address, length & 0xFFFFFFFF)


def is_waiting(listener: int, call: ConnectCall) -> bool:
    """Return whether the call still waits, so that its thread is the one that made it."""
    try:
        fcntl.ioctl(listener, _IS_VALID, struct.pack("=Q", call.id))
    except OSError:
        return False
    return True


def answer_call(listener: int, call: ConnectCall, error: int) -> None:
    """Let a call return: 0 without an error number, else -1 with that. Does nothing if it ended."""
    try:
        fcntl.ioctl(listener, _SEND, _RESPONSE.pack(call.id, -1 if error else 0, -error, 0))
    except OSError:
        return


def open_socket_of(call: ConnectCall) -> socket.socket:
    """Return the socket of a call, sharing its state.

    Raises:
        OSError: There is none.
    """
    process = os.pidfd_open(_process_of(call.thread))
    try:
        descriptor = _LIBC.syscall(_PIDFD_GETFD, process, call.descriptor, 0)
        if descriptor < 0:
            raise _last_error()
        try:
            return socket.socket(fileno=descriptor)
        except OSError:
            os.close(descriptor)
            raise
    finally:
        os.close(process)


def read_address(call: ConnectCall) -> bytes:
    """Return a copy of the address, which the thread may change at any time.

    Raises:
        OSError: It cannot be read.
    """
    if not MIN_ADDRESS_BYTES <= call.length <= MAX_ADDRESS_BYTES:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
    with Path(f"/proc/{call.thread}/mem").open("rb", buffering=0) as memory:
        try:
            data = os.pread(memory.fileno(), call.length, call.address)
        except OSError:  # EIO where nothing is mapped, which `connect` calls a bad address
            data = b""
    if len(data) != call.length:
        raise OSError(errno.EFAULT, os.strerror(errno.EFAULT))
    return data


def working_directory_of(call: ConnectCall) -> Path:
    """Return the working directory of a call's thread.

    Raises:
        OSError: It has ended.
    """
    return Path(f"/proc/{call.thread}/cwd").readlink()


def connect_raw(connecting: socket.socket, address: bytes) -> int:
    """Connect to an address as the kernel has it; return the error number, 0 if there is none."""
    result = _LIBC.connect(connecting.fileno(), address, len(address))
    return ctypes.get_errno() if result < 0 else 0


def _process_of(thread: int) -> int:
    """Return the process of a thread.

    Raises:
        OSError: It has ended.
    """
    status = Path(f"/proc/{thread}/status").read_text("ascii", errors="replace")
    return int(status.partition("\nTgid:")[2].split(maxsplit=1)[0])


def _last_error() -> OSError:
    number = ctypes.get_errno()
    return OSError(number, os.strerror(number))


_LIBC = ctypes.CDLL(None, use_errno=True)
