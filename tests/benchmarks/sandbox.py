"""Sandbox cost per command: `uv run python -m tests.benchmarks.sandbox`.

Runs the same command as the terminal tool does, alternately confined and unconfined. Prints medians
with the spread, the cost as a ratio to bare Python in the same run, and the CPU time of this
process and its children.

Three situations: the plain one; from a process with much memory (starting a child must not copy
page tables); and in a home directory with many entries (the launcher excludes the private ones by
name). The directories are in the home directory, as a user's are: the temporary directory may be
full.
"""

import statistics
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage

import anyio

from tests.benchmarks.clock import measure_bare_python
from tests.tools.confinement.sandbox_setup import Ground, confined, make_ground, with_network
from tests.tools.shell.command_session import Place, workplace

RUNS = 30
COMMAND = "true"
HELD_MIB = 500
MANY_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class Figures:
    """Wall and CPU milliseconds of each run."""

    passed: list[float] = field(default_factory=list[float])
    taken: list[float] = field(default_factory=list[float])


async def measure(ground: Ground) -> dict[str, Figures]:
    """Return the figures by how the command was run."""
    async with (
        workplace(ground.root) as plain,
        confined(ground) as bounded,
        confined(ground, with_network(ground)) as online,
    ):
        places = {"not confined": plain, "confined": bounded, "with the network": online}
        figures = {name: Figures() for name in places}
        for _ in range(RUNS):
            for name, place in places.items():
                await _run(place, figures[name])
    return figures


async def _run(place: Place, figures: Figures) -> None:
    begin, taken = time.perf_counter(), _processor_seconds()
    outcome = await place.run(COMMAND)
    assert outcome.ended.exit.code == 0, outcome.output
    figures.passed.append((time.perf_counter() - begin) * 1000)
    figures.taken.append((_processor_seconds() - taken) * 1000)


def _processor_seconds() -> float:
    usages = [getrusage(whose) for whose in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure_in_home(names: int = 0) -> dict[str, Figures]:
    """Return the figures in a new home directory with this many additional entries."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        ground = make_ground(Path(folder))
        for number in range(names):
            (ground.home / f"name-{number}").touch()
        return anyio.run(measure, ground)


def measure_holding(mebibytes: int) -> dict[str, Figures]:
    """Return the figures of a process with this much touched memory."""
    held = bytearray(b"x") * (mebibytes << 20)
    figures = measure_in_home()
    del held
    return figures


def show(title: str, figures: dict[str, Figures], bare: float) -> None:
    """Print the figures of one situation."""
    print(title)
    plain = statistics.median(figures["not confined"].passed)
    for name, each in figures.items():
        median = statistics.median(each.passed)
        cost = median - plain
        print(
            f"  {name:18} {median:8.1f} ms  ({min(each.passed):.1f} to {max(each.passed):.1f}); "
            f"costs {cost:.1f} ms, {cost / bare:.2f} of a bare Python; "
            f"processor {statistics.mean(each.taken):.1f} ms"
        )


def main() -> None:
    """Print the figures."""
    bare = measure_bare_python()
    print(f"{'bare Python':20} {bare:8.1f} ms")
    show("as it is", measure_in_home(), bare)
    show(f"holding {HELD_MIB} MiB", measure_holding(HELD_MIB), bare)
    show(f"{MANY_NAMES} names in the home", measure_in_home(MANY_NAMES), bare)


if __name__ == "__main__":
    main()
