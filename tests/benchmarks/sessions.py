"""Cost of stored sessions for a client: `uv run python -m tests.benchmarks.sessions [--full]`.

The server is a separate process with a scripted model. Prints each figure with its bound and with
the competing agent's figure, measured separately; times also as a ratio to bare Python in the same
run. Searches run over 1,000 sessions of 100 messages, with `--full` over 10,000.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.history.search_databases import DatabasePaths
from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.clock import measure_bare_python, time_ms
from tests.benchmarks.history import measure_append_ms, write_session_with_turns, write_sessions
from tests.benchmarks.search import QUERIES, build, measure

TURNS = 150
WARM_TURNS = 30
SCRIPT = "prompt: *\nsay: Hello.\n"
NO_HISTORY_CONFIG = (
    "import sys, acp_server.server.app as app\n"
    "from acp_server.session.ports.null_archive import NullArchive\n"
    "from acp_server.__main__ import main\n"
    "app.LazyArchive = lambda path: NullArchive()\n"
    "sys.exit(main())"
)
"""Settings of a server that stores nothing: the baseline for the cost of storing."""


@dataclass(frozen=True, slots=True)
class TimeBound:
    """Maximum of a figure, and the competing agent's value, in milliseconds."""

    maximum_ms: float | None = None
    rival_ms: float | None = None


BOUNDS: Mapping[str, TimeBound] = {
    f"load of {TURNS} turns": TimeBound(200.0, 2_000.0),
    "list of 45 sessions": TimeBound(20.0, 250.0),
    "first page of 1,000 sessions": TimeBound(20.0),
    "all pages of 1,000 sessions": TimeBound(),
    "append of a message, kept": TimeBound(),
    "warm turn, kept": TimeBound(12.0, 52.0),
    "warm turn, not kept": TimeBound(),
    "the slowest search, CPU": TimeBound(50.0),
}
"""The competing agent uses the same home directory; measured on a quiet two-core machine."""

Figures = dict[str, float]


def serve(folder: Path, *, has_history: bool = True) -> MeasuredAgent:
    """Start a server with this home directory."""
    script = folder / "test.script"
    script.write_text(SCRIPT, encoding="utf-8")
    start = ["-m", "acp_server"] if has_history else ["-c", NO_HISTORY_CONFIG]
    return MeasuredAgent([sys.executable, *start, "serve", "--model", f"scripted:{script}"], folder)


def measure_all(folder: Path, *, is_full: bool) -> Figures:
    """Return all figures in milliseconds."""
    return {
        **_measure_load(folder / "load"),
        **_measure_lists(folder),
        **_measure_turns(folder),
        **_measure_search(folder / "search.db", is_full=is_full),
    }


def _measure_load(home: Path) -> Figures:
    home.mkdir()
    session_id = "long"
    anyio.run(write_session_with_turns, home / "acp" / "sessions.db", session_id, TURNS)
    with serve(home) as agent:
        agent.initialize()
        params: JsonValue = {"sessionId": session_id, "cwd": str(home), "mcpServers": []}
        agent.call("session/list", {})
        return {f"load of {TURNS} turns": time_ms(lambda: agent.call("session/load", params))}


def _measure_lists(folder: Path) -> Figures:
    figures: Figures = {}
    for count in (45, 1_000):
        home = folder / f"list{count}"
        home.mkdir()
        anyio.run(write_sessions, home / "acp" / "sessions.db", count)
        with serve(home) as agent:
            agent.initialize()
            agent.call("session/list", {})  # opens the database
            first = statistics.median(
                time_ms(lambda: agent.call("session/list", {})) for _ in range(20)
            )
            if count == 45:
                figures["list of 45 sessions"] = first
            else:
                figures["first page of 1,000 sessions"] = first
                figures["all pages of 1,000 sessions"] = time_ms(lambda: _all_pages(agent))
    return figures


def _all_pages(agent: MeasuredAgent) -> None:
    result, _ = agent.call("session/list", {})
    while result.get("nextCursor") is not None:
        result, _ = agent.call("session/list", {"cursor": result["nextCursor"]})


def _measure_turns(folder: Path) -> Figures:
    figures: Figures = {}
    for name, has_history in (("warm turn, kept", True), ("warm turn, not kept", False)):
        home = folder / name.replace(" ", "-")
        home.mkdir()
        with serve(home, has_history=has_history) as agent:
            agent.initialize()
            prompt = partial(agent.prompt, agent.new_session(home), "hi")
            prompt()
            figures[name] = statistics.median(time_ms(prompt) for _ in range(WARM_TURNS))
    path = folder / "append" / "sessions.db"
    figures["append of a message, kept"] = anyio.run(measure_append_ms, path)
    return figures


def _measure_search(path: Path, *, is_full: bool) -> Figures:
    build(path, 10_000 if is_full else 1_000)
    timings = [measure(DatabasePaths(path), query, 5)[1][1:] for query in QUERIES.values()]
    slowest = max(statistics.median(each.cpu_ms for each in runs) for runs in timings)
    return {"the slowest search, CPU": slowest}


def main() -> int:
    """Measure and print; return 1 if a figure exceeds its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="search in 10,000 sessions")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    unit = statistics.median(measure_bare_python() for _ in range(7))
    print(f"  bare Python {unit:.1f} ms, load {os.getloadavg()[0]:.1f}\n")
    runs: list[Figures] = []
    for number in range(arguments.runs):
        with tempfile.TemporaryDirectory() as name:
            runs.append(measure_all(Path(name), is_full=arguments.full and number == 0))
    head = f"{'ms':>9} {'±':>7} {'bound':>7} {'x Python':>9} {'rival':>7} {'x faster':>9}"
    print(f"  {'':30}{head}")
    return max(_report(name, [run[name] for run in runs], unit) for name in BOUNDS)


def _report(name: str, values: list[float], unit: float) -> int:
    median, spread = statistics.median(values), (max(values) - min(values)) / 2
    bound = BOUNDS[name]
    is_slow = bound.maximum_ms is not None and median > bound.maximum_ms
    most = f"{bound.maximum_ms:7.0f}" if bound.maximum_ms is not None else " " * 7
    rival = (
        "" if bound.rival_ms is None else f"{bound.rival_ms:7.0f} {bound.rival_ms / median:9.0f}"
    )
    mark = "  TOO SLOW" if is_slow else ""
    print(f"  {name:30}{median:9.2f} {spread:7.2f} {most} {median / unit:9.2f} {rival}{mark}")
    return int(is_slow)


if __name__ == "__main__":
    raise SystemExit(main())
