"""Profiles of our own server: `uv run python -m tests.benchmarks.profile startup|chunks|...`.

`startup` lists, from `-X importtime`, the imports before the first `session/new` response. `chunks`
samples the server while it streams 20,000 chunks from an instant endpoint, `turns` while it answers
short prompts, `crowd` while 50 sessions run their first turn. Sampling uses py-spy, which needs no
cooperation from the sampled process (on macOS it needs root).
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.agent_setup import endpoint_process
from tests.benchmarks.endpoint.model_requests import format_command

CHUNKS = 20_000
TURNS = 200
CONCURRENT_SESSIONS = 50
CONCURRENT_COMMAND = "paced 10 50"
RATE_HZ = 500
SETTLED_SECONDS = 3.0
ATTACHED_SECONDS = 1.5
STARTS = 5
MAX_ROWS = 40
STOPPED_AT_THE_ANSWER = """
import gc, os
gc.disable()
from acp_server import __main__
from acp_server.jsonrpc.peer import InboundRequest

InboundRequest.succeed = lambda call, result: os._exit(0)
__main__.main()
"""
"""Exits at the first answered call, `session/new`: `initialize` precedes any call."""
IMPORT = re.compile(r"import time:\s+(\d+) \|\s+(\d+) \| ( *)(\S+)")
WAITING = re.compile(r"^(wait \(threading|select \(selectors|_worker |_chunks |_collect )")
"""Frames in which a thread waits although it seems busy."""
LINE_NUMBER = re.compile(r":\d+\)$")


@dataclass(frozen=True, slots=True)
class ImportTime:
    """Import time of one module in microseconds: its own, and including its first imports."""

    name: str
    self_us: int
    cumulative_us: int


def measure_imports(home: Path) -> list[ImportTime]:
    """Return the imports of one start in order of completion."""
    calls: list[tuple[str, JsonValue]] = [
        ("initialize", {"protocolVersion": 1, "clientCapabilities": {}}),
        ("session/new", {"cwd": str(home), "mcpServers": []}),
    ]
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
        for number, (method, params) in enumerate(calls)
    ]
    command = ["-X", "importtime", "-c", STOPPED_AT_THE_ANSWER, "serve", "--model", "scripted:demo"]
    done = subprocess.run(
        [sys.executable, *command],
        input="".join(lines),
        capture_output=True,
        text=True,
        check=True,
        env=_environment(home),
    )
    return [
        ImportTime(found[4], int(found[1]), int(found[2])) for found in IMPORT.finditer(done.stderr)
    ]


def _environment(home: Path) -> dict[str, str]:
    inherited = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, "HERMES_HOME": str(home), "HOME": str(home), "ANTHROPIC_API_KEY": "none"}


def show_startup(home: Path) -> None:
    """Print the fastest of several starts: sums by package, then the slowest modules."""
    starts = [measure_imports(home) for _ in range(STARTS)]
    imports = min(starts, key=lambda each: sum(one.self_us for one in each))
    total = sum(one.self_us for one in imports)
    print(f"{len(imports)} modules, {total / 1000:.1f} ms\n\nby package")
    sums, counts = Counter[str](), Counter[str]()
    for one in imports:
        sums[_package(one.name)] += one.self_us
        counts[_package(one.name)] += 1
    for name, self_us in sums.most_common(MAX_ROWS):
        print(f"  {self_us / 1000:8.1f} ms {100 * self_us / total:5.1f} % {counts[name]:5} {name}")
    print("\nby module: alone, with what it needs")
    for one in sorted(imports, key=lambda one: -one.self_us)[:MAX_ROWS]:
        print(f"  {one.self_us / 1000:8.2f} {one.cumulative_us / 1000:8.2f} ms  {one.name}")


def _package(name: str) -> str:
    first, *rest = name.split(".")
    if first in sys.stdlib_module_names:
        return "(the standard library)"
    return ".".join([first, *rest[:1]]) if first == "acp_server" else first


def sample_stacks(work: str) -> list[str]:
    """Return the stacks of a working server, one per line, each with its sample count."""
    with endpoint_process() as endpoint, tempfile.TemporaryDirectory() as name:
        home = Path(name)
        environment = _environment(home) | {"ANTHROPIC_BASE_URL": endpoint.url}
        with MeasuredAgent(
            [sys.executable, "-m", "acp_server", "serve"], home, environment
        ) as agent:
            agent.initialize()
            session = agent.new_session(home)
            time.sleep(SETTLED_SECONDS)
            agent.prompt(session, "hi")
            crowd = (
                [agent.new_session(home) for _ in range(CONCURRENT_SESSIONS)]
                if work == "crowd"
                else []
            )
            time.sleep(SETTLED_SECONDS if crowd else 0)
            with _profiled(agent.pid, home / "stacks"):
                cpu_before = agent.cpu_seconds
                count = _run_workload(work, agent, [session, *crowd], home)
                cpu_before = agent.cpu_seconds - cpu_before
        print(f"{count} {work}, {cpu_before / count * 1e6:.1f} µs of processor time for each")
        return (home / "stacks").read_text(encoding="utf-8").splitlines()


def _run_workload(work: str, agent: MeasuredAgent, sessions: Sequence[str], home: Path) -> int:
    session, *crowd = sessions
    if crowd:
        paced = format_command(CONCURRENT_COMMAND, home)
        agent.wait_for_turns([agent.start_turn(each, paced) for each in crowd])
        return len(crowd)
    if work == "chunks":
        agent.prompt(session, format_command(f"chunks {CHUNKS}", home))
        return CHUNKS
    for _ in range(TURNS):
        agent.prompt(session, "hi")
    return TURNS


@contextmanager
def _profiled(number: int, stacks: Path) -> Generator[None]:
    """Sample a process while the context lasts."""
    options = ["--rate", str(RATE_HZ), "--format", "raw", "--threads"]
    command = ["py-spy", "record", "--pid", str(number), *options, "--output", str(stacks)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as watcher:
        time.sleep(ATTACHED_SECONDS)  # py-spy does not report when it is ready
        yield
        watcher.send_signal(signal.SIGINT)


def show_samples(stacks: Iterable[str]) -> None:
    """Print by thread, by function alone, and by function including its callees."""
    threads, alone, totals = Counter[str](), Counter[str](), Counter[str]()
    for stack in stacks:
        frames, _, seen = stack.rpartition(" ")
        thread, *calls = [LINE_NUMBER.sub(")", frame) for frame in frames.split(";")]
        if not calls or WAITING.match(calls[-1]):
            continue
        threads[re.sub(r"\d+", "", thread)] += int(seen)
        alone[calls[-1]] += int(seen)
        totals.update(dict.fromkeys(calls, int(seen)))
    total = max(1, threads.total())
    for title, counter in (("by thread", threads), ("alone", alone), ("with all it calls", totals)):
        print(f"\n{title}")
        for name, seen in counter.most_common(MAX_ROWS):
            print(f"  {100 * seen / total:5.1f} %  {name}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["startup", "chunks", "turns", "crowd"])
    what = parser.parse_args().what
    if what == "startup":
        with tempfile.TemporaryDirectory() as name:
            show_startup(Path(name))
    else:
        show_samples(sample_stacks(what))


if __name__ == "__main__":
    main()
