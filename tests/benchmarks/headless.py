"""Start-up time of a pipeline run: `uv run python -m tests.benchmarks.headless [--runs N]`.

Measures the time from the start of `acp-server run` to its first model request, by API format and
by number of workspace files. Import times come from separate runs with `-X importtime`, which are
slower for it: the sum of each module's own time, on any thread. CPU time is little affected by
other load. Prints medians with the spread, and ratios to bare Python.
"""

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.benchmarks.clock import measure_bare_python
from tests.cli.command_line import environment
from tests.support.messages_api import (
    KEY,
    FakeApiServerInThread,
    ParsedRequest,
    ScriptedReply,
    messages_api_in_thread,
    reply,
)
from tests.support.openai_api import OpenAiRequest, openai_api_in_thread

FORMS = ("messages", "chat")
FILE_COUNTS = (1, 2_000)
HOME = 'model: {{provider: custom, default: gpt-4.1, base_url: "{url}", api_key: {key}}}\n'
RUN = ("-m", "acp_server", "run", "Look around", "--format", "json")
_SELF_TIME = re.compile(r"^import time:\s+(\d+) \|", re.MULTILINE)


def endpoint(
    form: str, answer: Callable[[ParsedRequest | OpenAiRequest], ScriptedReply]
) -> AbstractContextManager[FakeApiServerInThread]:
    """Serve an endpoint of this API format."""
    return messages_api_in_thread(answer) if form == "messages" else openai_api_in_thread(answer)


def create_workspace(folder: Path, count: int) -> None:
    """Create a repository of small files, none of them committed."""
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    for number in range(count):
        file = folder / f"folder-{number % 50}" / f"file-{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"NUMBER = {number}\n" * 40)


@dataclass(frozen=True, slots=True)
class FirstRequest:
    """Measurements at the time of the first model request."""

    milliseconds: float
    processor_milliseconds: float
    stderr: str
    """Content of stderr at that time."""


def measure(form: str, count: int) -> dict[str, float]:
    """Return the figures of one run with a new home directory."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        create_workspace(folder / "workspace", count)
        plain = _first_request(form, folder, ())
        timed = _first_request(form, folder, ("-X", "importtime"))
    self_us = sum(int(each) for each in _SELF_TIME.findall(timed.stderr))
    return {
        "first request, ms": plain.milliseconds,
        "of the processor, ms": plain.processor_milliseconds,
        "imports, ms": self_us / 1000,
    }


def _first_request(form: str, folder: Path, options: tuple[str, ...]) -> FirstRequest:
    """Run a task; return the measurements at its first model request."""
    measured: list[FirstRequest] = []
    processes: list[subprocess.Popen[bytes]] = []
    errors, home = folder / "stderr", folder / f"home{len(options)}"

    def answer(ask: ParsedRequest | OpenAiRequest) -> ScriptedReply:
        del ask
        ended = time.perf_counter()
        times = psutil.Process(processes[0].pid).cpu_times()
        cpu_ms = (times.user + times.system) * 1000
        measured.append(FirstRequest((ended - started_at) * 1000, cpu_ms, errors.read_text()))
        return reply("Done.")

    home.mkdir()
    with endpoint(form, answer) as api, errors.open("wb") as stderr:
        variables = {"ANTHROPIC_BASE_URL": api.url, "ANTHROPIC_API_KEY": KEY}
        if form != "messages":
            (home / "config.yaml").write_text(HOME.format(url=api.url, key=KEY))
            variables = {}
        started_at = time.perf_counter()
        command = [sys.executable, *options, *RUN, "--cwd", str(folder / "workspace")]
        process = subprocess.Popen(
            command,
            env=environment(home, **variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )
        processes.append(process)
        if process.wait():
            raise RuntimeError(errors.read_text())
    return measured[0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    bare = statistics.median(measure_bare_python() for _ in range(7))
    print(f"bare Python, ms {bare:.1f}")
    for form in FORMS:
        for count in FILE_COUNTS:
            measure(form, count)  # warms the disk cache
            runs = [measure(form, count) for _ in range(arguments.runs)]
            print(f"\n{form}, a workspace of {count:,} files")
            for name in runs[0]:
                values = [run[name] for run in runs]
                median, spread = statistics.median(values), (max(values) - min(values)) / 2
                ratio = f"{median / bare:6.1f} x bare Python"
                print(f"  {name:22} {median:8.0f}  ± {spread:5.0f}  {ratio}")


if __name__ == "__main__":
    main()
