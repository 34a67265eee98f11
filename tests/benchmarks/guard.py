"""Guard against slower code: `uv run python -m tests.benchmarks.guard`.

Processor time and memory of a start, a turn and a chunk as ratios to bare Python, measured in turn
with it, against the ratios kept in `guard.toml`. A start is held to imports of the standard
library, a turn and a chunk to JSON that is parsed and written: processors differ in how much faster
one is than the other. Exit code 1 if a ratio is 1.5 times the kept one.

Each figure is the least of many short samples: other load on the machine only ever adds to them,
and on a shared processor the speed changes within a tenth of a second. The processor time is read
from the clock of the process, so elapsed time does not matter. `--keep` writes the ratios of this
run into the file. Linux only.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.agent_setup import AgentSetup, create_location, endpoint_process
from tests.benchmarks.peers import OWN_AGENT, PEERS
from tests.benchmarks.processes import tree_memory

KEPT = Path(__file__).with_name("guard.toml")
HEAD = "# Ratios to bare Python: `python -m tests.benchmarks.guard --keep` writes them.\n"
FACTOR = 1.5
RUNS = 5
TURNS = 40
STREAMS = 8
CHUNKS = 5_000
"""A stream must be long beside the turn that it belongs to, and short beside a change of speed."""
READY_SECONDS = 4.0
BARE_PYTHON = """
import sys
import asyncio, concurrent.futures, decimal, email.mime.text, html.parser, http.client, inspect
import json, multiprocessing, sqlite3, ssl, tarfile, unittest, urllib.request, xml.etree.ElementTree
print(flush=True)
sys.stdin.readline()
from time import process_time
def work():
    began = process_time()
    for number in range(2_000):
        json.loads(json.dumps({"method": "update", "params": {"text": "words", "number": number}}))
    return process_time() - began
print(min(work() for _ in range(30)) * 1000, flush=True)
sys.stdin.readline()
"""
Ratios = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a server: its name, and the figure of bare Python that it is held to."""

    name: str
    yardstick: str


IMPORTS, JSON, MEMORY = "imports", "JSON", "memory"
FIGURES = (
    Figure("start: CPU until the first session is open", IMPORTS),
    Figure("start: memory with the first session", MEMORY),
    Figure("first turn, sent at once: CPU from the spawn", IMPORTS),
    Figure("warm turn: CPU", JSON),
    Figure("chunk: CPU", JSON),
    Figure("end: memory after all turns and chunks", MEMORY),
)


def cpu_ms(process_id: int) -> float:
    """Return the processor time of a process and its threads, in milliseconds."""
    clock = (~process_id << 3) | 2  # Linux' number for the processor clock of a process
    return time.clock_gettime(clock) * 1000


def measure_server(setup: AgentSetup) -> Iterator[float]:
    """Yield the figures in their order."""
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        yield cpu_ms(agent.pid)
        yield tree_memory(agent.pid).proportional
        agent.run_turn(session, "hi")
        yield cpu_ms(agent.pid)
        time.sleep(READY_SECONDS)  # until the imports for an idle session are done
        chunks = setup.format_command(f"chunks {CHUNKS}")
        agent.run_turn(session, "hi")
        yield min(_cost(agent, lambda: agent.run_turn(session, "hi")) for _ in range(TURNS))
        agent.run_turn(session, setup.format_command("chunks 100"))
        streams = [_cost(agent, lambda: agent.run_turn(session, chunks)) for _ in range(STREAMS)]
        yield min(streams) / CHUNKS
        yield tree_memory(agent.pid).proportional


def _cost(agent: MeasuredAgent, work: Callable[[], object]) -> float:
    before = cpu_ms(agent.pid)
    work()
    return cpu_ms(agent.pid) - before


def measure_bare_python() -> dict[str, float]:
    """Return the processor time and the memory of imports, and the processor time of JSON."""
    command, pipe = [sys.executable, "-c", BARE_PYTHON], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        figures = {IMPORTS: cpu_ms(process.pid), MEMORY: tree_memory(process.pid).proportional}
        process.stdin.write(b"\n")
        process.stdin.flush()
        figures[JSON] = float(process.stdout.readline())
        process.stdin.close()
    return figures


def measure(runs: int) -> dict[str, float]:
    """Return the ratio of each figure to its yardstick, the least of several runs of both."""
    yardsticks: list[dict[str, float]] = []
    servers: list[list[float]] = []
    with endpoint_process() as endpoint, tempfile.TemporaryDirectory() as name:
        setup = AgentSetup(
            PEERS[OWN_AGENT], create_location(Path(name) / "home", endpoint.url), endpoint
        )
        for number in range(runs + 1):
            yardsticks += [measure_bare_python() for _ in range(3)]
            figures = [*measure_server(setup)]
            if number:  # the first run stores code and fills caches
                servers.append(figures)
    bare = {each: min(one[each] for one in yardsticks) for each in (IMPORTS, JSON, MEMORY)}
    return {
        figure.name: min(values) / bare[figure.yardstick]
        for figure, values in zip(FIGURES, zip(*servers, strict=True), strict=True)
    }


def compare(found: Ratios, kept: Ratios, factor: float = FACTOR) -> Sequence[str]:
    """Return the names of the figures that are too large; a figure not kept is one of them."""
    return [name for name, ratio in found.items() if ratio >= factor * kept.get(name, 0.0)]


def main() -> int:
    """Measure, print and compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--keep", action="store_true")
    arguments = parser.parse_args()
    if sys.platform != "linux":
        print("not measured: only Linux has the clock of another process")
        return 0
    found = measure(arguments.runs)
    if arguments.keep:
        lines = (f'"{name}" = {ratio:.3g}\n' for name, ratio in found.items())
        KEPT.write_text(HEAD + "".join(lines), encoding="utf-8")
    kept: dict[str, float] = tomllib.loads(KEPT.read_text(encoding="utf-8"))
    too_large = compare(found, kept)
    print(f"{'x bare Python':48}{'now':>9}{'kept':>9}{'ratio':>7}")
    for name, ratio in found.items():
        mark = "  TOO LARGE" if name in too_large else ""
        share = ratio / kept[name] if name in kept else float("inf")
        print(f"{name:48}{ratio:9.3g}{kept.get(name, 0.0):9.3g}{share:7.2f}{mark}")
    return int(bool(too_large))


if __name__ == "__main__":
    raise SystemExit(main())
