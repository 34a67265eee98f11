"""Figures of fleets: overhead over bare runs, cost of a unit, and 10,000 tasks in the plan.

`uv run python -m tests.benchmarks.fleet` prints them; `--dask` adds those of a loopback cluster.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import median

import anyio

from acp_server.fleet.driver import FleetPolicy
from acp_server.fleet.engines.registry import find_engine
from acp_server.fleet.engines.seam import EngineConfig
from acp_server.fleet.git import FleetGit
from acp_server.fleet.journal import FleetJournal, read_journal
from acp_server.fleet.planning import FleetPlanner, PlanRequest
from acp_server.fleet.task_file import parse_task_lines
from acp_server.fleet.unit import Unit
from tests.fleet.dask_cluster import dask_cluster
from tests.fleet.fleets import run_fleet, units_of
from tests.headless.run.repositories import create_repository

RUNS = 6
UNITS = 1_000
ANSWER = """echo '{"type": "result", "outcome": "done"}'"""
TRUE = ("/bin/sh", "-c", ANSWER)
"""As little as a process can do and still give a result."""
SCRIPT = "prompt: *\ncall: write_file\n  path: made.txt\n  content: made\nstep:\nsay: Done.\n"


def run_bare(repository: Path, options: Sequence[str]) -> float:
    """Run the tasks one after another, each in a worktree, without a fleet; return the seconds."""
    started = time.monotonic()
    for number in range(RUNS):
        tree = repository.parent / f"tree{number}"
        git = ("git", "-C", str(repository), "worktree")
        subprocess.run((*git, "add", "--detach", "--quiet", str(tree)), check=True)
        command = (sys.executable, "-I", "-m", "acp_server", "run", "-", *options)
        places = ("--cwd", str(tree), "--format", "json", "--patch", str(tree) + ".patch")
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
    directory: Path, units: Sequence[Unit], engine: str, config: EngineConfig
) -> float:
    """Run units on an engine; return the seconds."""
    started = time.monotonic()
    policy = FleetPolicy(jobs=config.jobs)
    run = await run_fleet(directory, units, policy, None, find_engine(engine), config)
    assert set(run.outcomes.values()) == {"done"}, run.outcomes
    return time.monotonic() - started


def overhead(folder: Path, repository: Path, engine: str, address: str) -> None:
    """Print the overhead over bare runs, from three pairs in turn."""
    script = folder / "bench.script"
    script.write_text(SCRIPT)
    options = ("--model", f"scripted:{script}")
    ratios: list[float] = []
    for turn in range(3):
        units = [replace(unit, options=options) for unit in units_of(repository, *["work"] * RUNS)]
        bare = run_bare(repository, options)
        config = EngineConfig(jobs=1, address=address)
        fleet = anyio.run(partial(run_units, folder / f"{engine}{turn}", units, engine, config))
        ratios.append(fleet / bare - 1)
        print(f"{engine}: bare {bare / RUNS:.2f} s a run, fleet {fleet / RUNS:.2f} s")
    print(f"{engine}: overhead {median(ratios):.1%}")


def cost_of_a_unit(folder: Path, repository: Path, engine: str, address: str) -> None:
    """Print the time of a unit that does nothing."""
    for jobs in (1, 4):
        config = EngineConfig(jobs=jobs, address=address, command=TRUE)
        units = units_of(repository, *["true"] * UNITS)
        seconds = anyio.run(
            partial(run_units, folder / f"{engine}-true{jobs}", units, engine, config)
        )
        print(f"{engine}: {1000 * seconds / UNITS:.1f} ms a unit of `true`, {jobs} at a time")


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
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository = create_repository(folder / "code", {"a.txt": b"a\n"})
        if "--plan" in sys.argv:
            plan(folder, repository, int(sys.argv[-1]))
            return
        for count in (1_000, 10_000, 50_000):
            subprocess.run(
                (sys.executable, "-m", "tests.benchmarks.fleet", "--plan", str(count)), check=True
            )
        cost_of_a_unit(folder, repository, "local", "")
        overhead(folder, repository, "local", "")
        if "--dask" in sys.argv:
            with dask_cluster(folder / "dask", 1) as cluster:
                cost_of_a_unit(folder, repository, "dask", cluster.address)
                overhead(folder, repository, "dask", cluster.address)


if __name__ == "__main__":
    main()
