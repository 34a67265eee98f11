"""How long tests wait for what comes at once on a quiet machine: for a hang, not for a verdict."""

import time
from collections.abc import Callable

PATIENCE_SECONDS = 60.0


def is_over_within(worked_seconds: float, is_over: Callable[[], bool]) -> bool:
    """Whether something is over before this process has worked for so long, asking that alone.

    On a quiet machine these are seconds of the clock. On a busy one they pass as slowly for us as
    work does for the process that is waited for, so a limit means the same at any load.
    """
    begun = time.process_time()
    while not is_over():
        if time.process_time() - begun > worked_seconds:
            return False
    return True
