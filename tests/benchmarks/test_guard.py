"""The guard tells code that became slower from the same code on a slower machine."""

import os
import sys
import time
import tomllib

import pytest

from tests.benchmarks import guard

KEPT = {"start": 10.0, "chunk": 0.002}


@pytest.mark.parametrize(
    ("found", "too_large"),
    [
        ({"start": 10.0, "chunk": 0.002}, []),
        ({"start": 14.9, "chunk": 0.0001}, []),
        ({"start": 15.0, "chunk": 0.002}, ["start"]),
        ({"start": 30.0, "chunk": 0.01}, ["start", "chunk"]),
        ({"start": 10.0, "unknown": 1.0}, ["unknown"]),
    ],
)
def test_a_ratio_is_held_to_the_kept_one(found: guard.Ratios, too_large: list[str]) -> None:
    assert guard.compare(found, KEPT) == too_large


def test_every_figure_is_kept() -> None:
    kept = tomllib.loads(guard.KEPT.read_text(encoding="utf-8"))

    assert [*kept] == [figure.name for figure in guard.FIGURES]
    assert all(ratio > 0 for ratio in kept.values())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has the clock of another process")
def test_the_clock_of_a_process_counts_its_work_and_not_its_waiting() -> None:
    before, outside = time.process_time(), guard.cpu_ms(os.getpid())
    after = time.process_time()

    assert before * 1000 <= outside <= after * 1000
    bare = guard.measure_bare_python()
    assert all(bare[figure.yardstick] > 0 for figure in guard.FIGURES)
