"""What a process and everything it has started take: memory and processor time.

Memory is the proportional set size where the system tells it (what several processes share is
divided among them), elsewhere what belongs to each alone. It knows no agents.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

GONE = (psutil.NoSuchProcess, psutil.ZombieProcess, FileNotFoundError, ProcessLookupError)


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory of a family of processes, in MiB."""

    proportional: float
    resident: float


def family_of(number: int) -> list[psutil.Process]:
    """Return a process and its descendants."""
    try:
        root = psutil.Process(number)
        return [root, *root.children(recursive=True)]
    except GONE:
        return []


def memory_of(number: int) -> Memory:
    """Return what a process and its descendants hold."""
    each = [_memory_of_one(process) for process in family_of(number)]
    return Memory(sum(one.proportional for one in each), sum(one.resident for one in each))


def _memory_of_one(process: psutil.Process) -> Memory:
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except PermissionError:
        return Memory(0, 0)
    except GONE:
        return _memory_elsewhere(process)
    sizes = {line.split(":")[0]: int(line.split()[1]) for line in lines[1:] if ":" in line}
    return Memory(sizes["Pss"] / 1024, sizes["Rss"] / 1024)


def _memory_elsewhere(process: psutil.Process) -> Memory:
    try:
        full = process.memory_full_info()
    except (*GONE, psutil.AccessDenied):
        return Memory(0, 0)
    return Memory(full.uss / 2**20, full.rss / 2**20)


def cpu_seconds_of(number: int) -> float:
    """Return the processor time of a process, its descendants, and those of them that ended."""
    total = 0.0
    for process in family_of(number):
        try:
            times = process.cpu_times()
        except GONE:
            continue
        ended: Sequence[float] = (times.children_user, times.children_system)
        total += times.user + times.system + sum(ended)
    return total


def end(processes: Sequence[psutil.Process]) -> None:
    """Kill those that are still there."""
    for process in processes:
        try:
            process.kill()
        except GONE:
            continue
    psutil.wait_procs(processes, timeout=5)
