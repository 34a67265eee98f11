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
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    open_confined,
    with_network,
)
from tests.tools.shell.command_session import CommandSession, open_command_session

RUNS = 30
COMMAND = "true"
ALLOCATED_MIB = 500
MANY_NAMES = 1_000


@dataclass(frozen=True, slots=True)
class SandboxTimings:
    """Wall and CPU milliseconds of each run."""

    wall_ms: list[float] = field(default_factory=list[float])
    cpu_ms: list[float] = field(default_factory=list[float])


async def measure(directories: SandboxDirectories) -> dict[str, SandboxTimings]:
    """Return the figures by how the command was run."""
    async with (
        open_command_session(directories.root) as plain,
        open_confined(directories) as confined,
        open_confined(directories, with_network(directories)) as online,
    ):
        sessions = {"not confined": plain, "confined": confined, "with the network": online}
        figures = {name: SandboxTimings() for name in sessions}
        for _ in range(RUNS):
            for name, session in sessions.items():
                await _run(session, figures[name])
    return figures


async def _run(session: CommandSession, figures: SandboxTimings) -> None:
    started_at, cpu_before = time.perf_counter(), _processor_seconds()
    outcome = await session.run(COMMAND)
    assert outcome.ended.exit.code == 0, outcome.output
    figures.wall_ms.append((time.perf_counter() - started_at) * 1000)
    figures.cpu_ms.append((_processor_seconds() - cpu_before) * 1000)


def _processor_seconds() -> float:
    usages = [getrusage(whose) for whose in (RUSAGE_SELF, RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def measure_in_home(names: int = 0) -> dict[str, SandboxTimings]:
    """Return the figures in a new home directory with this many additional entries."""
    with tempfile.TemporaryDirectory(dir=Path.home()) as folder:
        directories = create_directories(Path(folder))
        for number in range(names):
            (directories.home / f"name-{number}").touch()
        return anyio.run(measure, directories)


def measure_with_memory(mebibytes: int) -> dict[str, SandboxTimings]:
    """Return the figures of a process with this much touched memory."""
    memory = bytearray(b"x") * (mebibytes << 20)
    figures = measure_in_home()
    del memory
    return figures


def show(title: str, figures: dict[str, SandboxTimings], bare: float) -> None:
    """Print the figures of one situation."""
    print(title)
    plain = statistics.median(figures["not confined"].wall_ms)
    for name, each in figures.items():
        median = statistics.median(each.wall_ms)
        cost = median - plain
        print(
            f"  {name:18} {median:8.1f} ms  ({min(each.wall_ms):.1f} to {max(each.wall_ms):.1f}); "
            f"costs {cost:.1f} ms, {cost / bare:.2f} of a bare Python; "
            f"processor {statistics.mean(each.cpu_ms):.1f} ms"
        )


def main() -> None:
    """Print the figures."""
    bare = measure_bare_python()
    print(f"{'bare Python':20} {bare:8.1f} ms")
    show("as it is", measure_in_home(), bare)
    show(f"holding {ALLOCATED_MIB} MiB", measure_with_memory(ALLOCATED_MIB), bare)
    show(f"{MANY_NAMES} names in the home", measure_in_home(MANY_NAMES), bare)


if __name__ == "__main__":
    main()
