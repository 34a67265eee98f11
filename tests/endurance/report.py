"""The figures of a soak test in words."""

import statistics

from tests.endurance.measures import (
    Sample,
    growth_bytes_per_turn,
    processor_ms_per_turn,
)
from tests.endurance.soak import SoakFigures

MEBIBYTE = 2**20


def describe_sample(sample: Sample) -> str:
    """Return one line for a round."""
    return (
        f"{sample.turns:>7} turns  {sample.memory_bytes / MEBIBYTE:7.1f} MiB  "
        f"{sample.descriptors:>3} descriptors  {sample.threads:>3} threads  "
        f"{len(sample.children)} children  {sample.processor_seconds:7.1f} s of processor"
    )


def summarize(figures: SoakFigures) -> str:
    """Return the result in a few lines."""
    third = max(2, len(figures.samples) // 3)
    settled = figures.samples[third:]
    grows = growth_bytes_per_turn(settled) if len(settled) > 1 else 0.0
    begin, end = figures.samples[:third], figures.samples[-third:]
    at_begin, at_end = (
        statistics.median([each for round_ in rounds for each in round_])
        for rounds in (figures.latencies[:third], figures.latencies[-third:])
    )
    return (
        f"{figures.turns} turns in {figures.seconds:.0f} s, {figures.processor_seconds:.0f} s of "
        f"processor; {figures.requests_answered} requests answered, "
        f"{figures.requests_unanswered} not; the model was asked {figures.asked_of_model} times; "
        f"memory grows by {grows:.0f} bytes a turn; a turn takes {at_begin * 1000:.1f} ms and "
        f"{processor_ms_per_turn(begin):.1f} ms of processor in the first third, "
        f"{at_end * 1000:.1f} and {processor_ms_per_turn(end):.1f} ms in the last"
    )
