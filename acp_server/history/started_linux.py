"""When a process began, by the kernel's own count, which no clock can change."""

from pathlib import Path

_STATE, _STARTED = 0, 19
"""Places among the words behind the name of a process, in /proc/<pid>/stat."""


def started(pid: int) -> str | None:
    """Return what tells a process from an earlier one of its number; None when it has ended."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:  # it is hidden from us, and alive
        return ""
    words = told.rpartition(")")[2].split()
    return None if words[_STATE] in {"Z", "X"} else words[_STARTED]
