"""Manual soak test: `python -m tests.endurance --rounds 25 --lanes 4 --turns 100`."""

import argparse
import tempfile
from pathlib import Path

import anyio

from tests.endurance.measures import Sample
from tests.endurance.report import describe_sample, summarize
from tests.endurance.soak import SoakPlan, run_soak


def show(sample: Sample) -> None:
    """Print one line per round."""
    print(describe_sample(sample), flush=True)


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
