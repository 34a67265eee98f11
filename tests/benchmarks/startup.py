"""Start-up and streaming times: `uv run python -m tests.benchmarks.startup [--runs N]`.

The model is a script, so no SDK is imported; `tests.benchmarks` itself measures any agent over a
real model API. Prints medians with the spread, and ratios to bare Python in the same run.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.clock import measure_bare_python, milliseconds_since, time_ms

CHUNKS = 20_000
SCRIPT = f"prompt: chunks\nchunks: {CHUNKS} word \n\nprompt: *\nsay: hello\n"
Row = tuple[str, list[float], str]


def measure_agent(command: list[str], folder: Path) -> dict[str, float]:
    """Return the figures of one agent process without prompts."""
    figures: dict[str, float] = {}
    with MeasuredAgent(command, folder / "home") as agent:
        agent.initialize()
        figures["initialize, ms from spawn"] = milliseconds_since(agent.started_at)
        figures["memory then, MiB"] = agent.resident_mebibytes
        agent.new_session(folder)
        figures["first session/new, ms from spawn"] = milliseconds_since(agent.started_at)
        figures["memory then, MiB "] = agent.resident_mebibytes
        figures["second session/new, ms"] = time_ms(lambda: agent.new_session(folder))
    return figures


def measure_turns(command: list[str], folder: Path) -> dict[str, float]:
    """Return the turn figures of an agent with an instant model."""
    figures: dict[str, float] = {}
    with MeasuredAgent(command, folder / "home") as agent:
        agent.initialize()
        session = agent.new_session(folder)
        figures["first prompt, ms"] = time_ms(lambda: agent.prompt(session, "hi"))
        warm = [time_ms(lambda: agent.prompt(session, "hi")) for _ in range(20)]
        figures["warm prompt, ms"] = statistics.median(warm)
        agent.prompt(session, "chunks")
        cpu_before = agent.cpu_seconds
        agent.prompt(session, "chunks")
        figures["CPU per chunk, µs"] = (agent.cpu_seconds - cpu_before) / CHUNKS * 1e6
        figures["memory at the end, MiB"] = agent.resident_mebibytes
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "home").mkdir()
        script = folder / "bench.script"
        script.write_text(SCRIPT)
        ours = [sys.executable, "-m", "acp_server", "serve", "--model", f"scripted:{script}"]
        bare = _repeat(arguments.runs, lambda: {"bare Python, ms": measure_bare_python()})
        _print("yardstick", bare, statistics.median(bare["bare Python, ms"]))
        unit = statistics.median(bare["bare Python, ms"])
        _print(
            "acp-server",
            _repeat(arguments.runs, lambda: measure_agent(ours, folder)),
            unit,
        )
        _print("acp-server, turns", _repeat(3, lambda: measure_turns(ours, folder)), unit)


def _repeat(runs: int, work: Callable[[], dict[str, float]]) -> dict[str, list[float]]:
    work()  # warms the disk cache
    results = [work() for _ in range(runs)]
    return {name: [result[name] for result in results] for name in results[0]}


def _print(title: str, figures: dict[str, list[float]], unit: float) -> None:
    print(f"\n{title}")
    for name, values in figures.items():
        median, spread = statistics.median(values), max(values) - min(values)
        ratio = f"{median / unit:7.1f} x bare Python" if "ms" in name else ""
        print(f"  {name:34} {median:9.1f}  ± {spread / 2:6.1f}  {ratio}")


if __name__ == "__main__":
    main()
