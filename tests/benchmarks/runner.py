"""Schedule of a benchmark: each run measures every agent, starting with a different one.

Repeats of the whole benchmark are interleaved run by run: a shared machine becomes faster or slower
for minutes, and consecutive repeats would only show that. Knows no rows; an impossible measurement
is noted with its reason, and the rest continues.
"""

import os
import platform
import sqlite3
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import psutil

from tests.benchmarks.agent import AgentError
from tests.benchmarks.agent_setup import AgentSetup, create_setup, endpoint_process
from tests.benchmarks.figures import AgentFigures, Figures
from tests.benchmarks.machine_limits import measure_limits
from tests.benchmarks.peers import PeerAgent
from tests.benchmarks.rows import RowGroup

MEASUREMENT_ERRORS = (AgentError, LookupError, OSError, ValueError, psutil.Error, sqlite3.Error)
BUSY_LOAD_PER_CORE = 0.5
SETTLED_SECONDS = 10.0

Some = TypeVar("Some")


@dataclass(slots=True)
class BenchmarkResults:
    """All measured values."""

    sheets: dict[str, AgentFigures]
    limits: AgentFigures = field(default_factory=AgentFigures)
    machine: str = ""
    load: float = 0.0
    """Load average before the first run."""


def run(
    peers: Sequence[PeerAgent], groups: Sequence[RowGroup], runs: int, repeats: int = 1
) -> list[BenchmarkResults]:
    """Measure the agents with this many runs per repeat; report progress on stderr."""
    load = os.getloadavg()[0]
    repeated = [_no_results(peers, load) for _ in range(repeats)]
    if load > BUSY_LOAD_PER_CORE * (os.cpu_count() or 1):
        print_progress(f"WARNING: the machine is busy (load {load:.1f}); times will be too long")
    with _folder() as name, endpoint_process() as endpoint:
        setups = [create_setup(peer, Path(name), endpoint) for peer in peers]
        _warm(setups)
        for group in groups:
            for number in range(min(runs, group.max_runs)):
                for results in _rotate(repeated, number):
                    if group is groups[0]:
                        _record(results.limits, measure_limits(endpoint))
                    for setup in _rotate(setups, number):
                        print_progress(f"{group.name}, run {number + 1}: {setup.peer.name}")
                        _measure(group, setup, results.sheets[setup.peer.name])
    return repeated


def _no_results(peers: Sequence[PeerAgent], load: float) -> BenchmarkResults:
    return BenchmarkResults(
        {peer.name: AgentFigures() for peer in peers}, machine=describe_machine(), load=load
    )


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary directory for one run; files of a lingering agent are left behind."""
    return tempfile.TemporaryDirectory(prefix="acp-bench-", ignore_cleanup_errors=True)


def print_progress(text: str) -> None:
    """Print progress."""
    print(f"{datetime.now(tz=UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


def describe_machine() -> str:
    """Describe the machine that the figures were measured on."""
    return (
        f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{datetime.now(tz=UTC):%Y-%m-%d}"
    )


def _warm(setups: Sequence[AgentSetup]) -> None:
    """Start each agent once, so that first-start work is not measured.

    It is left alone for a while after its turn: some store then what makes the next start faster,
    as after an installation or an update.
    """
    for setup in setups:
        try:
            with setup.start() as agent:
                agent.initialize()
                agent.run_turn(agent.new_session(setup.project), "hi")
                time.sleep(SETTLED_SECONDS)
        except MEASUREMENT_ERRORS as error:
            print_progress(f"{setup.peer.name}: {error}")


def _rotate(all_of_them: Sequence[Some], number: int) -> list[Some]:
    first = number % len(all_of_them)
    return [*all_of_them[first:], *all_of_them[:first]]


def _record(sheet: AgentFigures, figures: Figures) -> None:
    for key, figure in figures:
        sheet.add(key, figure)


def _measure(group: RowGroup, setup: AgentSetup, sheet: AgentFigures) -> None:
    try:
        _record(sheet, group.measure(setup))
    except MEASUREMENT_ERRORS as error:
        reason = str(error) or type(error).__name__
        print_progress(f"{setup.peer.name}: {reason}")
        for row in group.rows:
            if row.key not in sheet.values:
                sheet.notes.setdefault(row.key, reason)
