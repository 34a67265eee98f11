"""Process start times on Linux: the kernel's own counter, which no clock change affects."""

from pathlib import Path

_STATE, _STARTED = 0, 19
"""Positions of the fields after the process name in /proc/<pid>/stat."""


def process_start_token(pid: int) -> str | None:
    """Return a token unique among processes with this id, or None if the process has ended."""
    try:
        stat_line = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    except OSError:  # hidden from this user, so it is alive
        return ""
    # The last parenthesis: the process name before it may itself contain some, and spaces.
    words = stat_line.rpartition(")")[2].split()
    return None if words[_STATE] in {"Z", "X"} else words[_STARTED]
