"""Manual soak test: `python -m tests.endurance --rounds 25 --lanes 4 --turns 100`."""

import argparse
import statistics
import tempfile
from pathlib import Path

import anyio

from tests.endurance.measures import Sample, growth_bytes_per_turn, processor_ms_per_turn
from tests.endurance.soak import SoakFigures, SoakPlan, run_soak

MEBIBYTE = 2**20


def show(sample: Sample) -> None:
    """Print one line per round."""
    print(
        f"{sample.turns:>7} turns  {sample.memory_bytes / MEBIBYTE:7.1f} MiB  "
        f"{sample.descriptors:>3} descriptors  {sample.threads:>3} threads  "
        f"{len(sample.children)} children  {sample.processor_seconds:7.1f} s of processor",
        flush=True,
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


def main() -> None:
    """Parse the options, run the soak test, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--lasting", action="store_true", help="one session for each lane")
    options = parser.parse_args()
    sizes = options.rounds, options.lanes, options.turns
    plan = SoakPlan(*sizes, options.seed, is_lasting=options.lasting)
    with tempfile.TemporaryDirectory() as folder:
        print(summarize(anyio.run(run_soak, plan, Path(folder) / "soak", show)))


if __name__ == "__main__":
    main()
