"""Figures of fleets: overhead over bare runs, cost of a unit, and 10,000 tasks in the plan.

`uv run python -m tests.benchmarks.fleet` prints them; `--dask` adds those of a loopback cluster.
`--verdicts` prints overhead and cost of a unit alone, local and over Dask, with their limits; its
exit code is 1 if one does not hold. It takes some minutes, on a machine that does nothing else.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import anyio
from anyio import to_thread

from acp_server.fleet.driver import FleetPolicy
from acp_server.fleet.engines.registry import find_engine
from acp_server.fleet.engines.seam import EngineConfig, FleetEngine
from acp_server.fleet.git import FleetGit
from acp_server.fleet.journal import FleetJournal, read_journal
from acp_server.fleet.planning import FleetPlanner, PlanRequest
from acp_server.fleet.task_file import parse_task_lines
from acp_server.fleet.unit import Unit
from tests.fleet.dask_cluster import dask_cluster
from tests.fleet.fleets import OpenEngine, run_fleet, units_of
from tests.headless.run.repositories import create_repository

PAIRS = 15
UNITS = 1_000
ANSWER = """echo '{"type": "result", "outcome": "done"}'"""
TRUE = ("/bin/sh", "-c", ANSWER)
"""As little as a process can do and still give a result."""
MAX_OVERHEAD = {"local": 0.10, "dask": 0.20}
MAX_UNIT_SECONDS = 0.050
SCRIPT = "prompt: *\ncall: write_file\n  path: made.txt\n  content: made\nstep:\nsay: Done.\n"


def run_bare(repository: Path, options: Sequence[str]) -> float:
    """Run the task in a worktree, without a fleet; return the seconds."""
    started = time.monotonic()
    tree = repository.parent / "tree"
    git = ("git", "-C", str(repository), "worktree")
    subprocess.run((*git, "add", "--detach", "--quiet", str(tree)), check=True)
    command = (sys.executable, "-I", "-m", "acp_server", "run", "-", *options)
    places = ("--cwd", str(tree), "--format", "json", "--patch", f"{tree}.patch")
    subprocess.run(
        (*command, *places),
        input=b"work",
        capture_output=True,
        check=True,
        start_new_session=True,  # as in a fleet: sessions share the processor
    )
    subprocess.run((*git, "remove", "--force", str(tree)), check=True)
    return time.monotonic() - started


async def run_units(
    directory: Path, units: Sequence[Unit], open_engine: OpenEngine, config: EngineConfig
) -> float:
    """Run units on an engine; return the seconds."""
    started = time.monotonic()
    policy = FleetPolicy(jobs=config.jobs)
    run = await run_fleet(directory, units, policy, None, open_engine, config)
    assert set(run.outcomes.values()) == {"done"}, run.outcomes
    return time.monotonic() - started


async def overhead(folder: Path, repository: Path, engine: str, address: str) -> bool:
    """Print the overhead of a task over a bare run; return whether it is below its limit.

    A bare run and a fleet of one task take turns, in either order, on an engine that stays open.
    """
    script = folder / "bench.script"
    script.write_text(SCRIPT)
    options = ("--model", f"scripted:{script}")
    unit = replace(units_of(repository, "work")[0], options=options)
    config = EngineConfig(jobs=1, address=address)
    bare: list[float] = []
    fleet: list[float] = []
    async with find_engine(engine)(config) as opened:

        @asynccontextmanager
        async def stay_open(_: EngineConfig) -> AsyncGenerator[FleetEngine]:
            yield opened

        for pair in range(-1, PAIRS):  # the first one loads what later ones find
            if pair % 2:
                bare.append(await to_thread.run_sync(run_bare, repository, options))
            output = folder / f"{engine}{pair}"
            fleet.append(await run_units(output, [unit], stay_open, config))
            if not pair % 2:
                bare.append(await to_thread.run_sync(run_bare, repository, options))
    ratios = [one / other - 1 for one, other in zip(fleet[1:], bare[1:], strict=True)]
    low, middle, high = quantiles(ratios, n=4)
    limit = MAX_OVERHEAD[engine]
    print(
        f"{engine}: bare {median(bare[1:]):.2f} s, as a task {median(fleet[1:]):.2f} s; overhead "
        f"{middle:.1%} (median of {PAIRS} pairs; middle half {low:.1%} to {high:.1%}), "
        f"limit {limit:.0%}: {verdict(middle < limit)}"
    )
    return middle < limit


def cost_of_a_unit(folder: Path, repository: Path, engine: str, address: str) -> bool:
    """Print the time of a unit that does nothing; return whether it is below its limit."""
    fits: list[bool] = []
    for jobs in (1, 4):
        config = EngineConfig(jobs=jobs, address=address, command=TRUE)
        units = units_of(repository, *["true"] * UNITS)
        output = folder / f"{engine}-true{jobs}"
        seconds = anyio.run(partial(run_units, output, units, find_engine(engine), config)) / UNITS
        fits.append(seconds < MAX_UNIT_SECONDS)
        print(
            f"{engine}: {1000 * seconds:.1f} ms a unit of `true`, {jobs} at a time, "
            f"limit {1000 * MAX_UNIT_SECONDS:.0f} ms: {verdict(fits[-1])}"
        )
    return all(fits)


def verdict(holds: bool) -> str:  # noqa: FBT001
    """Return the words for a limit that holds, or does not."""
    return "holds" if holds else "DOES NOT HOLD"


def plan(folder: Path, repository: Path, count: int) -> None:
    """Print the time and memory of planning and journaling tasks, in a process of its own."""
    lines = (json.dumps({"prompt": f"Do number {n}", "tags": ["x"]}) for n in range(count))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.monotonic()
    tasks = parse_task_lines("\n".join(lines))
    request = PlanRequest(repository, folder, lambda _task: ("--mode", "edit"))
    git = FleetGit(dict(os.environ))
    made = FleetPlanner(request, git, git).plan(tasks)
    planned = time.monotonic() - started
    directory = folder / f"plan{count}"
    directory.mkdir()
    with FleetJournal(directory) as journal:
        journal.append("run", units=count)
        journal.append_queued(made.units)
    journaled = time.monotonic() - started - planned
    read = read_journal(directory)
    assert len(read.results) == count
    seconds = time.monotonic() - started
    memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    size = (directory / "journal.jsonl").stat().st_size / 1e6
    reading = seconds - planned - journaled
    print(
        f"{count:,} tasks: planned in {planned:.2f} s, journaled in {journaled:.2f} s, read in "
        f"{reading:.2f} s; {memory:.0f} MiB more memory, journal {size:.1f} MB"
    )


def main() -> None:
    """Print all figures."""
    only_verdicts = "--verdicts" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HERMES_HOME"] = str(folder / "home")
        (folder / "home").mkdir()
        repository = create_repository(folder / "code", {"a.txt": b"a\n"})
        if "--plan" in sys.argv:
            plan(folder, repository, int(sys.argv[-1]))
            return
        for count in () if only_verdicts else (1_000, 10_000, 50_000):
            subprocess.run(
                (sys.executable, "-m", "tests.benchmarks.fleet", "--plan", str(count)), check=True
            )
        print(f"load of this machine: {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
        fits = [
            cost_of_a_unit(folder, repository, "local", ""),
            anyio.run(overhead, folder, repository, "local", ""),
        ]
        if only_verdicts or "--dask" in sys.argv:
            with dask_cluster(folder / "dask", 1) as cluster:
                fits.append(cost_of_a_unit(folder, repository, "dask", cluster.address))
                fits.append(anyio.run(overhead, folder, repository, "dask", cluster.address))
    if only_verdicts:
        sys.exit(0 if all(fits) else 1)


if __name__ == "__main__":
    main()
