"""Longer fuzzing: `python -m tests.fuzz --seconds 60 shell patch`; all targets by default.

Failing inputs are saved in the corpus, where the tests find them from then on. `guided` is
coverage-guided and needs a library that is not available on every system.
"""

import argparse
import random
import time
import traceback
from collections import Counter

from tests.fuzz.corpus import inputs_of, save
from tests.fuzz.mutation import mutate
from tests.fuzz.targets import TARGETS

MAX_SAVED_FAILURES = 5
"""Maximum number of saved inputs per kind of failure."""


def fuzz(name: str, seconds: float, seed: int) -> Counter[str]:
    """Try inputs for this long; print and save failures, and return the count of each."""
    chance, target, inputs = random.Random(seed), TARGETS[name], list(inputs_of(name))  # noqa: S311
    failures: Counter[str] = Counter()
    count, slowest, deadline = 0, 0.0, time.monotonic() + seconds
    while time.monotonic() < deadline:
        data = mutate(inputs, chance)
        started_at = time.process_time()
        try:
            target(data)
        except Exception as error:  # noqa: BLE001  any exception is a finding
            kind = "".join(traceback.format_tb(error.__traceback__)[-1:]) + repr(error)[:80]
            failures[kind] += 1
            if failures[kind] == 1:
                print(f"{name}: {save(name, data)}\n{traceback.format_exc()}")
        slowest = max(slowest, time.process_time() - started_at)
        count += 1
    summary = f"{count} inputs, the slowest took {slowest * 1000:.0f} ms"
    print(f"{name}: {summary}, {failures.total()} failed", flush=True)
    return failures


def main() -> int:
    """Return 1 if a target failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], metavar="TARGET")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    names = options.targets or list(TARGETS)
    seed = random.randrange(2**32) if options.seed is None else options.seed  # noqa: S311
    print(f"seed {seed}")
    failed = sum(fuzz(name, options.seconds, seed).total() for name in names)
    return min(failed, 1)


if __name__ == "__main__":
    raise SystemExit(main())
