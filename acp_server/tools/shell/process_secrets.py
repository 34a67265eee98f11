"""Keeps other processes of the user from reading secrets out of this one.

Linux shows the environment that a process was started with in `/proc/<pid>/environ`, and its memory
to a debugger; macOS shows the environment to `ps`. Removing a variable changes neither, so the
value is overwritten where the system reads it.
"""

import ctypes
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

_SET_DUMPABLE = 4
_TRACE_CAPABILITY = 19
"""The bit of CAP_SYS_PTRACE, which opens the memory of any process."""


def hide_process(names: Collection[str]) -> bool:
    """Hide the values of variables and this process's memory; return whether memory is hidden."""
    overwrite_variables(names)
    return forbid_inspection()


def overwrite_variables(names: Collection[str]) -> None:
    """Overwrite the values of environment variables in this process's own environment block.

    `os.environ` is a copy and keeps them; a process that is started without an explicit environment
    gets them empty.
    """
    for address in _entry_addresses():
        name, separator, value = ctypes.string_at(address).partition(b"=")
        if separator and name.decode("utf-8", "surrogateescape") in names:
            ctypes.memset(address + len(name) + 1, 0, len(value))


def forbid_inspection() -> bool:
    """Forbid other processes of the user to read this one's memory; return whether none can.

    Debuggers and profilers cannot attach afterwards, and no core is dumped. It does not hold for
    processes that are started: they get their own memory.
    """
    if not sys.platform.startswith("linux"):
        return False
    is_set = ctypes.CDLL(None).prctl(_SET_DUMPABLE, 0, 0, 0, 0) == 0
    return is_set and not _may_trace_all()


def _entry_addresses() -> Iterator[int]:
    """Yield the addresses of this process's environment entries."""
    library = ctypes.CDLL(None)
    block = ctypes.POINTER(ctypes.c_void_p)
    if sys.platform == "darwin":
        # A shared library cannot see the symbol `environ` there.
        find_block = library["_NSGetEnviron"]
        find_block.restype = ctypes.POINTER(block)
        entries = find_block().contents
    else:
        entries = block.in_dll(library, "environ")
    index = 0
    while address := entries[index]:
        yield address
        index += 1


def _may_trace_all() -> bool:
    """Return whether this process, and so the commands that it starts, may trace any other."""
    with suppress(OSError, ValueError, IndexError):
        status = Path("/proc/self/status").read_text("ascii", errors="replace")
        mask = status.partition("CapEff:")[2].split(maxsplit=1)[0]
        return bool(int(mask, 16) >> _TRACE_CAPABILITY & 1)
    return True
