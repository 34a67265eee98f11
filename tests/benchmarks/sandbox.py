"""What the sandbox costs a command: `uv run python -m tests.benchmarks.sandbox`.

The same command is run as the terminal tool runs it, confined and not, in turns. Prints medians
with the spread, and the cost as a ratio to bare Python started in the same run. The folders lie in
the home, as those of users do: going around private files in a full temporary folder takes longer.
"""

import statistics
import tempfile
import time
from pathlib import Path

import anyio

from tests.benchmarks.clock import measure_bare_python
from tests.tools.confinement.ground import Ground, confined, make_ground, with_network
from tests.tools.shell.workplace import Place, workplace

RUNS = 30
COMMAND = "true"


async def measure(ground: Ground) -> dict[str, list[float]]:
    """Return the milliseconds of each run, by how it was run."""
    figures: dict[str, list[float]] = {}
    async with (
        workplace(ground.root) as plain,
        confined(ground) as bounded,
        confined(ground, with_network(ground)) as online,
    ):
        places = {"not confined": plain, "confined": bounded, "with the network": online}
        for _ in range(RUNS):
            for name, place in places.items():
                figures.setdefault(name, []).append(await _run(place))
    return figures


async def _run(place: Place) -> float:
    begin = time.perf_counter()
    outcome = await place.run(COMMAND)
    assert outcome.ended.exit.code == 0, outcome.output
    return (time.perf_counter() - begin) * 1000


def main() -> None:
    """Print the figures."""
    bare = measure_bare_python()
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        figures = anyio.run(measure, make_ground(Path(folder)))
    plain = statistics.median(figures["not confined"])
    print(f"{'bare Python':20} {bare:8.1f} ms")
    for name, times in figures.items():
        median = statistics.median(times)
        cost = median - plain
        print(
            f"{name:20} {median:8.1f} ms  ({min(times):.1f} to {max(times):.1f}); "
            f"costs {cost:.1f} ms, {cost / bare:.2f} of a bare Python"
        )


if __name__ == "__main__":
    main()
