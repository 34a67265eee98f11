"""Timeout that turns a hang into a failure; never the criterion of a test.

The awaited events happen at once on an idle machine, so the limit only matters if one never comes.
"""

import time
from collections.abc import Callable

HANG_TIMEOUT_SECONDS = 60.0
MAX_SLEEPING_SECONDS = 0.5
POLL_SECONDS = 0.005


def finishes_within(cpu_seconds: float, is_finished: Callable[[], bool]) -> bool:
    """Poll `is_finished` and return whether it became true within an amount of CPU time.

    The time is this process's own, which only polls. On an idle machine it equals wall-clock time;
    on a busy one it passes as slowly as the work of the process under test, so a limit means the
    same at any load. To save it, the process sleeps between the first polls: half the limit at
    most, which the rest makes up for.
    """
    sleeping_seconds = min(cpu_seconds / 2, MAX_SLEEPING_SECONDS)
    awake_at = time.monotonic() + sleeping_seconds
    while time.monotonic() < awake_at:
        if is_finished():
            return True
        time.sleep(POLL_SECONDS)
    started_at = time.process_time()
    while not is_finished():
        if time.process_time() - started_at > cpu_seconds - sleeping_seconds:
            return False
    return True
