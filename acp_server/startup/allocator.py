"""Has the C library give back the memory that a burst of work has used.

By default glibc keeps a heap for each thread, and keeps more free memory the larger the freed
blocks were. A server is one thread that works and several that wait for it, so one heap is enough.
Other C libraries are left alone.
"""

import ctypes
import sys
from functools import cache

_TRIM_THRESHOLD, _ARENA_MAX = -1, -8
_KEPT_BYTES = 128 * 1024


def use_one_heap() -> None:
    """Use one heap from now on, and keep little free memory at its end."""
    library = _c_library()
    if library is not None:
        library.mallopt(_ARENA_MAX, 1)
        library.mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def return_free_memory() -> None:
    """Return the free memory within the heap to the system; takes some milliseconds."""
    library = _c_library()
    if library is not None:
        library.malloc_trim(0)


@cache
def _c_library() -> ctypes.CDLL | None:
    """Return glibc; None for another C library."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None
