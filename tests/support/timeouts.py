"""Timeout that turns a hang into a failure; never the criterion of a test.

The awaited events happen at once on an idle machine, so the limit only matters if one never comes.
"""

import time
from collections.abc import Callable

HANG_TIMEOUT_SECONDS = 60.0


def finishes_within(cpu_seconds: float, is_finished: Callable[[], bool]) -> bool:
    """Poll `is_finished` and return whether it became true within an amount of CPU time.

    The time is this process's own, which only polls. On an idle machine it equals wall-clock time;
    on a busy one it passes as slowly as the work of the process under test, so a limit means the
    same at any load.
    """
    started_at = time.process_time()
    while not is_finished():
        if time.process_time() - started_at > cpu_seconds:
            return False
    return True
