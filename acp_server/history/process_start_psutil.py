"""Process start times without /proc: from psutil, measured by the system's clock."""

import psutil


def process_start_token(pid: int) -> str | None:
    """Return a token unique among processes with this id, or None if the process has ended."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:  # another user's process, so it is alive
        return ""
