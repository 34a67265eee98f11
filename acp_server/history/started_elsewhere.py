"""When a process began, where there is no /proc: by psutil, which asks the system's clock."""

import psutil


def started(pid: int) -> str | None:
    """Return what tells a process from an earlier one of its number; None when it has ended."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None
    except psutil.AccessDenied:  # it is another user's, and alive
        return ""
