"""Whether a server still works on what it was asked: judged by what it does, never by the clock.

A machine may be so busy that a server gets no processor for minutes. Then its threads are ready to
run, or its commands are. A server that has lost a wake-up looks different: all of its threads and
those of its commands sleep, and go on sleeping, while requests are open.
"""

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil

SAMPLE_SECONDS = 1.0
IDLE_SAMPLES = 60
"""How many samples in a row must find a server asleep before it is called stuck. In between, the
test itself goes on: it answers what the server may wait for."""
IDLE_PROCESSOR_SECONDS = 0.05
"""What a sleeping server may use between two samples: its timers."""
MAX_PROCESSOR_SECONDS = 600.0
"""How much processor time a server may use while one and the same request is open."""
POLL_SECONDS = 0.05
EXIT_POLLS = 400
"""How often processes that should exit must be found asleep before they are given up."""
_ASLEEP = frozenset({psutil.STATUS_SLEEPING, psutil.STATUS_IDLE, psutil.STATUS_ZOMBIE})
_ASLEEP_ON_LINUX = frozenset("SIZX")


@dataclass(frozen=True, slots=True)
class Activity:
    """What a server and its commands do at a moment."""

    processor_seconds: float
    """Used so far by the processes that are there."""
    is_asleep: bool
    """Whether no thread is ready to run, waits for the disk or is stopped."""


class StuckError(AssertionError):
    """A server does nothing although it was asked."""


class ProgressWatch:
    """Watches a server until it is told to stop; raises if the server is stuck."""

    def __init__(
        self,
        process_id: int,
        find_open: Callable[[], Iterable[str]],
        count_received: Callable[[], int],
        sample_seconds: float = SAMPLE_SECONDS,
    ) -> None:
        """Prepare.

        `find_open` describes the requests without an answer, the oldest first; `count_received`
        counts the messages of the server.
        """
        self._process_id = process_id
        self._find_open = find_open
        self._count_received = count_received
        self._sample_seconds = sample_seconds

    async def run(self) -> None:
        """Watch until cancelled, or until the server has exited.

        Raises:
            StuckError: requests are open, and the server sleeps or works without an end.
        """
        idle_samples, last, received = 0, Activity(0.0, is_asleep=False), -1
        oldest, used_before = "", 0.0
        while True:
            await anyio.sleep(self._sample_seconds)
            try:
                activity = read_activity(self._process_id)
            except psutil.NoSuchProcess:
                return
            requests = list(self._find_open())
            used = activity.processor_seconds - last.processor_seconds
            is_idle = (
                activity.is_asleep
                and used < IDLE_PROCESSOR_SECONDS
                and received == self._count_received()
            )
            idle_samples = idle_samples + 1 if is_idle and requests else 0
            if idle_samples >= IDLE_SAMPLES:
                raise StuckError(f"the server sleeps, but has not answered: {requests}")
            if requests[:1] != [oldest]:
                oldest, used_before = (requests or [""])[0], activity.processor_seconds
            if activity.processor_seconds - used_before > MAX_PROCESSOR_SECONDS:
                raise StuckError(f"the server works without an end on: {oldest}")
            last, received = activity, self._count_received()


def read_activity(process_id: int) -> Activity:
    """Return what a process and all its descendants do.

    Raises:
        psutil.NoSuchProcess: the process itself has exited.
    """
    process = psutil.Process(process_id)
    if process.status() == psutil.STATUS_ZOMBIE:
        raise psutil.ZombieProcess(process_id)
    seconds, is_asleep = _read_one(process)
    for child in process.children(recursive=True):
        try:
            child_seconds, is_child_asleep = _read_one(child)
        except psutil.NoSuchProcess:
            continue
        seconds, is_asleep = seconds + child_seconds, is_asleep and is_child_asleep
    return Activity(seconds, is_asleep)


def _read_one(process: psutil.Process) -> tuple[float, bool]:
    times = process.cpu_times()
    return times.user + times.system, _is_asleep(process)


def _is_asleep(process: psutil.Process) -> bool:
    """Whether all threads of a process sleep; the main thread where others are not known."""
    if sys.platform != "linux":
        return process.status() in _ASLEEP
    try:
        states = [
            # The name of a program, in brackets, may hold anything.
            (each / "stat").read_text(errors="replace").rpartition(")")[2].split()[0]
            for each in Path(f"/proc/{process.pid}/task").iterdir()
        ]
    except (FileNotFoundError, ProcessLookupError):  # a thread has ended: something goes on
        return False
    return set(states) <= _ASLEEP_ON_LINUX


async def wait_for_exit(
    processes: Sequence[psutil.Process], staying: int = 0
) -> list[psutil.Process]:
    """Wait until all processes but `staying` have exited; return those that are left."""
    asleep_polls = 0
    while True:
        alive = [each for each in processes if _is_alive(each)]
        if len(alive) <= staying or asleep_polls >= EXIT_POLLS:
            return alive
        # A process that was ended and gets no processor is about to exit, however long that takes.
        if all(map(_is_asleep, alive)):
            asleep_polls += 1
        await anyio.sleep(POLL_SECONDS)


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
