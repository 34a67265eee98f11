"""Manual soak test: `python -m tests.endurance --rounds 25 --lanes 4 --turns 100`."""

import argparse
import tempfile
from pathlib import Path

import anyio

from tests.endurance.measures import Sample, growth_bytes_per_turn
from tests.endurance.soak import SoakFigures, SoakPlan, run_soak

MEBIBYTE = 2**20


def show(sample: Sample) -> None:
    """Print one line per round."""
    print(
        f"{sample.turns:>7} turns  {sample.memory_bytes / MEBIBYTE:7.1f} MiB  "
        f"{sample.descriptors:>3} descriptors  {sample.threads:>3} threads  "
        f"{len(sample.children)} children",
        flush=True,
    )


def summarize(figures: SoakFigures) -> str:
    """Return the result in a few lines."""
    settled = figures.samples[len(figures.samples) // 3 :]
    grows = growth_bytes_per_turn(settled) if len(settled) > 1 else 0.0
    return (
        f"{figures.turns} turns in {figures.seconds:.0f} s, {figures.processor_seconds:.0f} s of "
        f"processor; {figures.requests_answered} requests answered, "
        f"{figures.requests_unanswered} not; the model was asked {figures.asked_of_model} times; "
        f"memory grows by {grows:.0f} bytes a turn"
    )


def main() -> None:
    """Parse the options, run the soak test, print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--lanes", type=int, default=4)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    plan = SoakPlan(options.rounds, options.lanes, options.turns, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        print(summarize(anyio.run(run_soak, plan, Path(folder) / "soak", show)))


if __name__ == "__main__":
    main()
