"""What a process holds at rest, and whether it holds more and more.

One sample says little: allocators keep what they had, threads linger. What grows with the work
shows as a slope over many samples, each taken when nothing is going on.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import psutil


@dataclass(frozen=True, slots=True)
class Sample:
    """What a process holds after so many turns."""

    turns: int
    memory_bytes: int
    """Its own and its share of what is shared, where the system tells; else what is its own."""
    descriptors: int
    threads: int
    children: tuple[str, ...]
    """The names of all that descends from it, sorted."""


def take(process_id: int, turns: int) -> Sample:
    """Look at a process."""
    process = psutil.Process(process_id)
    memory = process.memory_full_info()
    children = (child.name() for child in process.children(recursive=True))
    return Sample(
        turns,
        int(getattr(memory, "pss", memory.uss)),
        process.num_fds(),
        process.num_threads(),
        tuple(sorted(children)),
    )


def slope(points: Sequence[tuple[float, float]]) -> float:
    """Return by how much the second grows with the first: the median over all pairs of points."""
    return statistics.median(
        (high - low) / (after - before) for (before, low), (after, high) in combinations(points, 2)
    )


def growth_bytes_per_turn(samples: Sequence[Sample]) -> float:
    """Return by how much the memory grows with each turn."""
    return slope([(sample.turns, sample.memory_bytes) for sample in samples])
