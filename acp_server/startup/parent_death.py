"""Has the kernel end this process when its parent dies, on Linux.

A fleet's guard ends its agents too (`fleet/process_guard.py`), on every system, but can be killed
together with the driver.
"""

import ctypes
import os
import signal
import sys

_SET_PARENT_DEATH_SIGNAL = 1


def end_with_parent(parent: int) -> None:
    """Be killed when the process with this id ends, which has started this one.

    The kernel watches the thread that started this process: it must wait for our end. SIGKILL,
    because a process in C code handles no other signal.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it had died before
        os.kill(os.getpid(), signal.SIGKILL)
