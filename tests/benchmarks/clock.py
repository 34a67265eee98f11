"""Timers, and the yardstick printed next to most figures: an empty Python program."""

import subprocess
import sys
import time
from collections.abc import Callable


def time_ms(work: Callable[[], object]) -> float:
    """Return the duration of a function call in milliseconds."""
    started_at = time.perf_counter()
    work()
    return milliseconds_since(started_at)


def milliseconds_since(start: float) -> float:
    """Return the milliseconds since a reading of `time.perf_counter`."""
    return (time.perf_counter() - start) * 1000


def measure_bare_python() -> float:
    """Return the milliseconds that an empty Python program takes."""
    return time_ms(lambda: subprocess.run([sys.executable, "-c", "pass"], check=True))
