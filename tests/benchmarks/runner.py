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
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import psutil

from tests.benchmarks.agent import AgentError
from tests.benchmarks.agent_setup import Lab, endpoint_process, make_lab
from tests.benchmarks.figures import Figures, Sheet
from tests.benchmarks.machine_limits import measure_limits
from tests.benchmarks.peers import Peer
from tests.benchmarks.rows import Group

MISHAPS = (AgentError, LookupError, OSError, ValueError, psutil.Error, sqlite3.Error)
BUSY_LOAD_PER_CORE = 0.5

Some = TypeVar("Some")


@dataclass(slots=True)
class Results:
    """All measured values."""

    sheets: dict[str, Sheet]
    limits: Sheet = field(default_factory=Sheet)
    machine: str = ""
    load: float = 0.0
    """Load average before the first run."""


def run(
    peers: Sequence[Peer], groups: Sequence[Group], runs: int, repeats: int = 1
) -> list[Results]:
    """Measure the agents with this many runs per repeat; report progress on stderr."""
    load = os.getloadavg()[0]
    repeated = [_no_results(peers, load) for _ in range(repeats)]
    if load > BUSY_LOAD_PER_CORE * (os.cpu_count() or 1):
        say(f"WARNING: the machine is busy (load {load:.1f}); times will be too long")
    with _folder() as name, endpoint_process() as endpoint:
        labs = [make_lab(peer, Path(name), endpoint) for peer in peers]
        _warm(labs)
        for group in groups:
            for number in range(min(runs, group.most_runs)):
                for results in _rotated(repeated, number):
                    if group is groups[0]:
                        _note(results.limits, measure_limits(endpoint))
                    for lab in _rotated(labs, number):
                        say(f"{group.name}, run {number + 1}: {lab.peer.name}")
                        _measure(group, lab, results.sheets[lab.peer.name])
    return repeated


def _no_results(peers: Sequence[Peer], load: float) -> Results:
    return Results({peer.name: Sheet() for peer in peers}, machine=machine(), load=load)


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary directory for one run; files of a lingering agent are left behind."""
    return tempfile.TemporaryDirectory(prefix="acp-bench-", ignore_cleanup_errors=True)


def say(text: str) -> None:
    """Print progress."""
    print(f"{datetime.now(tz=UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)


def machine() -> str:
    """Describe the machine that the figures were measured on."""
    return (
        f"{os.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GiB, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"{datetime.now(tz=UTC):%Y-%m-%d}"
    )


def _warm(labs: Sequence[Lab]) -> None:
    """Start each agent once, so that first-start work is not measured."""
    for lab in labs:
        try:
            with lab.start() as agent:
                agent.initialize()
                agent.turn(agent.new_session(lab.project), "hi")
        except MISHAPS as error:
            say(f"{lab.peer.name}: {error}")


def _rotated(all_of_them: Sequence[Some], number: int) -> list[Some]:
    first = number % len(all_of_them)
    return [*all_of_them[first:], *all_of_them[:first]]


def _note(sheet: Sheet, figures: Figures) -> None:
    for key, figure in figures:
        sheet.add(key, figure)


def _measure(group: Group, lab: Lab, sheet: Sheet) -> None:
    try:
        _note(sheet, group.measure(lab))
    except MISHAPS as error:
        reason = str(error) or type(error).__name__
        say(f"{lab.peer.name}: {reason}")
        for row in group.rows:
            if row.key not in sheet.values:
                sheet.notes.setdefault(row.key, reason)
