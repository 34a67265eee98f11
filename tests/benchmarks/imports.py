"""Event loop stalls during the SDK import: `uv run python -m tests.benchmarks.imports`.

A new process each time imports the SDK in a thread, as the server does, while the event loop ticks
every millisecond. Prints the longest gap between two ticks and the import time.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import cast

import anyio

from acp_server.models.lazy_imports import lazy_anthropic_client
from prompt_engine.cache_control import add_cache_breakpoints

TICK_SECONDS = 0.001


async def measure() -> dict[str, float]:
    """Import the SDK; return milliseconds."""
    waits: list[float] = []
    is_done = anyio.Event()
    idle = took = 0.0

    async def tick() -> None:
        last = time.perf_counter()
        while not is_done.is_set():
            await anyio.sleep(TICK_SECONDS)
            now = time.perf_counter()
            waits.append((now - last - TICK_SECONDS) * 1000)
            last = now

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(tick)
        await anyio.sleep(0.1)
        idle = max(waits)
        waits.clear()
        started_at = time.perf_counter()
        await lazy_anthropic_client(add_cache_breakpoints).get()
        took = (time.perf_counter() - started_at) * 1000
        is_done.set()
    waits.sort()
    return {
        "import, ms": took,
        "longest stall meanwhile, ms": waits[-1],
        "99th percentile, ms": waits[int(len(waits) * 0.99)],
        "longest stall when idle, ms": idle,
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--once", action="store_true")
    arguments = parser.parse_args()
    if arguments.once:
        print(json.dumps(anyio.run(measure)))
        return
    command = [sys.executable, "-m", "tests.benchmarks.imports", "--once"]
    subprocess.run(command, check=True, capture_output=True)  # warms the disk cache
    runs = [_run(command) for _ in range(arguments.runs)]
    for name in runs[0]:
        values = [run[name] for run in runs]
        print(f"  {name:30} {statistics.median(values):8.1f}  (worst {max(values):8.1f})")


def _run(command: list[str]) -> dict[str, float]:
    output = subprocess.run(command, check=True, capture_output=True).stdout
    return cast("dict[str, float]", json.loads(output))


if __name__ == "__main__":
    main()
