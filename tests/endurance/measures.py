"""Resources of a process at rest, and their growth over time.

A single sample says little: allocators keep freed memory, threads linger. A leak shows as a slope
over many samples, each taken while the server is idle.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import psutil


@dataclass(frozen=True, slots=True)
class Sample:
    """Resources of a process after a number of turns."""

    turns: int
    memory_bytes: int
    """Proportional set size where the system reports it, else the unique set size."""
    descriptors: int
    threads: int
    children: tuple[str, ...]
    """Sorted names of all descendants."""
    processor_seconds: float
    """Processor time that the process has used so far, without its children."""


def take_sample(process_id: int, turns: int) -> Sample:
    """Take a sample of a process."""
    process = psutil.Process(process_id)
    memory = process.memory_full_info()
    children = (child.name() for child in process.children(recursive=True))
    times = process.cpu_times()
    return Sample(
        turns,
        int(getattr(memory, "pss", memory.uss)),
        process.num_fds(),
        process.num_threads(),
        tuple(sorted(children)),
        times.user + times.system,
    )


def median_slope(points: Sequence[tuple[float, float]]) -> float:
    """Return the median slope over all pairs of points."""
    return statistics.median(
        (high - low) / (after - before) for (before, low), (after, high) in combinations(points, 2)
    )


def growth_bytes_per_turn(samples: Sequence[Sample]) -> float:
    """Return the growth of memory per turn."""
    return median_slope([(sample.turns, sample.memory_bytes) for sample in samples])


def processor_ms_per_turn(samples: Sequence[Sample]) -> float:
    """Return the processor time of a turn between the first and the last sample."""
    first, last = samples[0], samples[-1]
    return (last.processor_seconds - first.processor_seconds) * 1000 / (last.turns - first.turns)


def processor_growth(samples: Sequence[Sample]) -> float:
    """Return the processor time of a turn in the last third, as a multiple of the first third."""
    third = len(samples) // 3
    return processor_ms_per_turn(samples[-third - 1 :]) / processor_ms_per_turn(
        samples[: third + 1]
    )
