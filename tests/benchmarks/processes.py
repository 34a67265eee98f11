"""Memory and CPU time of a process and all of its descendants.

Memory is the proportional set size where the system reports it (memory shared by several processes
is divided among them), otherwise the unique set size. Knows no agents.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread

import psutil

SAMPLE_SECONDS = 0.02
STARTING_SECONDS, MAX_STARTS_WAITED_FOR = 0.002, 50
"""For how long a child that starts a program is waited for; a fork without one is counted then."""
PROCESS_GONE_ERRORS = (
    psutil.NoSuchProcess,
    psutil.ZombieProcess,
    FileNotFoundError,
    ProcessLookupError,
)


@dataclass(frozen=True, slots=True)
class TreeMemory:
    """Memory of a process tree, in MiB."""

    proportional: float
    resident: float


def process_tree(number: int) -> list[psutil.Process]:
    """Return a process and its descendants."""
    try:
        root = psutil.Process(number)
        return [root, *root.children(recursive=True)]
    except PROCESS_GONE_ERRORS:
        return []


def tree_memory(number: int) -> TreeMemory:
    """Return the memory of a process and its descendants."""
    tree = process_tree(number)
    for _ in range(MAX_STARTS_WAITED_FOR):
        if not any(map(_may_be_starting, tree[1:])):
            break
        time.sleep(STARTING_SECONDS)
        tree = process_tree(number)
    each = [_memory_of_one(process) for process in tree]
    return TreeMemory(sum(one.proportional for one in each), sum(one.resident for one in each))


@dataclass(slots=True)
class MostMemory:
    """The most proportional memory seen so far, in MiB."""

    most: float = 0.0


@contextmanager
def sampled_memory(number: int) -> Generator[MostMemory]:
    """Look at the memory of a process tree every few milliseconds while the context lasts."""
    memory, is_over = MostMemory(), Event()

    def sample() -> None:
        while True:
            memory.most = max(memory.most, tree_memory(number).proportional)
            if is_over.wait(SAMPLE_SECONDS):
                return

    thread = Thread(target=sample)
    thread.start()
    try:
        yield memory
    finally:
        is_over.set()
        thread.join()


def _may_be_starting(process: psutil.Process) -> bool:
    """Return whether a child still has its parent's command line.

    Until it has started its program, it runs in its parent's memory (`vfork`), which the system
    reports for both: a server that runs a command would seem to need twice as much.
    """
    try:
        parent = process.parent()
        return parent is not None and process.cmdline() == parent.cmdline()
    except PROCESS_GONE_ERRORS:
        return False


def _memory_of_one(process: psutil.Process) -> TreeMemory:
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except PermissionError:
        return TreeMemory(0, 0)
    except PROCESS_GONE_ERRORS:
        return _memory_of_other_systems(process)
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:] if ":" in line}
    return TreeMemory(sizes["Pss"] / 1024, sizes["Rss"] / 1024)


def _memory_of_other_systems(process: psutil.Process) -> TreeMemory:
    try:
        full = process.memory_full_info()
    except (*PROCESS_GONE_ERRORS, psutil.AccessDenied):
        return TreeMemory(0, 0)
    return TreeMemory(full.uss / 2**20, full.rss / 2**20)


def tree_cpu_seconds(number: int) -> float:
    """Return the CPU time of a process and its descendants, including those that exited."""
    total = 0.0
    for process in process_tree(number):
        try:
            times = process.cpu_times()
        except PROCESS_GONE_ERRORS:
            continue
        ended: Sequence[float] = (times.children_user, times.children_system)
        total += times.user + times.system + sum(ended)
    return total


def kill_all(processes: Sequence[psutil.Process]) -> None:
    """Kill the processes that still run."""
    for process in processes:
        try:
            process.kill()
        except PROCESS_GONE_ERRORS:
            continue
    psutil.wait_procs(processes, timeout=5)
