"""A day of 300 steps: `uv run python -m tests.benchmarks day --peers hermes,claude`.

Each agent works through the same 30 turns in one session over a clone of this repository
(`endpoint/workday.py`); the results fill two context windows. Prints requests, the bill, processor
time, memory, and how long a step takes at the beginning and at the end. The model answers at once,
so a step is the agent's own work and that of its tools.
"""

import argparse
import os
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.benchmarks.accounting import RunningBill
from tests.benchmarks.agent import AgentError, MeasuredAgent
from tests.benchmarks.agent_setup import (
    AgentSetup,
    ReceivedRequest,
    create_setup,
    endpoint_process,
)
from tests.benchmarks.billing import drop_unknown_fields
from tests.benchmarks.endpoint.answers import answer
from tests.benchmarks.endpoint.model_requests import parse_request
from tests.benchmarks.endpoint.stream_encoders import BYTES_PER_TOKEN
from tests.benchmarks.endpoint.workday import STEPS, TURNS
from tests.benchmarks.exploration import copy_repository
from tests.benchmarks.peers import OWN_AGENT, PEERS
from tests.benchmarks.processes import tree_memory
from tests.benchmarks.runner import print_progress

TURN_SECONDS = 600.0
COMPARED_TURNS = 5
"""Turns of steps 1 to 50 and of steps 251 to 300."""


@dataclass(slots=True)
class Workday:
    """Figures of an agent's day, as far as it came."""

    bill: RunningBill = field(default_factory=RunningBill)
    requests: int = 0
    output_tokens: int = 0
    largest_request: int = 0
    step_ms: list[float] = field(default_factory=list[float])
    """Milliseconds of a step, turn by turn."""
    cpu_seconds: float = 0.0
    memory_mebibytes: float = 0.0
    ended_early: str = ""
    """Why the session did not come to its end."""

    def add(self, received: ReceivedRequest) -> None:
        """Count a request and the model's answer to it."""
        reply = answer(parse_request("messages", received.body, received.bytes))
        size = sum(map(len, reply.text)) + sum(len(use.arguments) for use in reply.tool_uses)
        self.requests += 1
        self.output_tokens += size // BYTES_PER_TOKEN
        self.largest_request = max(self.largest_request, received.bytes)
        self.bill.add(drop_unknown_fields(received.body))


def measure_workday(setup: AgentSetup, turns: int = TURNS) -> Workday:
    """Drive an agent through its day."""
    copy_repository(setup.project)
    day = Workday()
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        for turn in range(turns):
            try:
                _measure_turn(setup, agent, session, day, turn)
            except AgentError as error:
                day.ended_early = f"turn {turn + 1} of {turns}: {error}"
                break
            print_progress(f"{setup.peer.name}: turn {turn + 1} of {turns}")
        day.cpu_seconds = agent.cpu_seconds
        day.memory_mebibytes = tree_memory(agent.pid).proportional
    return day


def _measure_turn(
    setup: AgentSetup, agent: MeasuredAgent, session: str, day: Workday, turn: int
) -> None:
    words = setup.format_command(f"workday {turn} 0")
    setup.endpoint.set_recording(is_keeping=True)
    try:
        done = agent.run_turn(session, f"Please test part {turn}. {words}", TURN_SECONDS)
    finally:
        taken = setup.endpoint.take_requests()
        setup.endpoint.set_recording(is_keeping=False)
    day.step_ms.append(done.milliseconds / STEPS)
    for received in taken:
        if received.path.endswith("/messages"):
            day.add(received)


def format_table(days: Mapping[str, Workday]) -> Iterator[str]:
    """Yield a Markdown table; in brackets the ratio to the first agent."""
    yield "| 300 steps over one repository | " + " | ".join(days) + " |"
    yield "|---|" + "---:|" * len(days)
    rows = [_row(day) for day in days.values()]
    for title, first in rows[0].items():
        others = [f"{row[title]:,.4g}{_ratio(row[title], first)}" for row in rows[1:]]
        yield f"| {title} | " + " | ".join([f"{first:,.4g}", *others]) + " |"
    for name, day in days.items():
        if day.ended_early:
            yield f"\n{name} ended early: {day.ended_early}"


def _ratio(figure: float, first: float) -> str:
    return f" ({figure / first:.2g})" if first else ""


def _row(day: Workday) -> dict[str, float]:
    bill = day.bill.bill
    return {
        "turns that ended": len(day.step_ms),
        "requests": day.requests,
        "largest request, KB": day.largest_request / 1000,
        "billed input, k tokens": bill.billed_tokens / 1000,
        "input read from cache, %": bill.read_share * 100,
        "output, k tokens": day.output_tokens / 1000,
        "CPU, s": day.cpu_seconds,
        "memory at the end, PSS, MiB": day.memory_mebibytes,
        "a step, of 1 to 50, ms": _median(day.step_ms[:COMPARED_TURNS]),
        "a step, of 251 to 300, ms": _median(day.step_ms[TURNS - COMPARED_TURNS :]),
    }


def _median(milliseconds: Sequence[float]) -> float:
    return statistics.median(milliseconds) if milliseconds else 0.0


def main(arguments: Sequence[str]) -> int:
    """Measure and print; return 1 if a session did not come to its end."""
    parser = argparse.ArgumentParser(
        prog="tests.benchmarks day",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--peers", default="")
    parser.add_argument("--turns", type=int, default=TURNS)
    options = parser.parse_args(arguments)
    names = [OWN_AGENT, *filter(None, str(options.peers).split(","))]
    print(f"load {os.getloadavg()[0]:.1f} before the first agent", flush=True)
    days = dict[str, Workday]()
    new_folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with new_folder as folder, endpoint_process() as endpoint:
        for name in names:
            setup = create_setup(PEERS[name], Path(folder), endpoint)
            days[name] = measure_workday(setup, options.turns)
    print(*format_table(days), sep="\n")
    return int(any(day.ended_early for day in days.values()))
