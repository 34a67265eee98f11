"""Soak test of a server: many sessions, thousands of turns, faults, and a leak check.

    figures = await run_soak(SoakPlan(rounds=25, lanes=4, turns=100), folder)

A round is one session in each lane, concurrently. Between rounds every session is closed, unless
it lasts, and a sample is taken (`measures`). At the end the server exits, and its files and
processes are checked.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio
import psutil

from tests.endurance.client import SoakClient, run_server
from tests.endurance.endpoint import SoakEndpoint
from tests.endurance.measures import Sample, take_sample
from tests.endurance.progress import wait_for_exit
from tests.endurance.soak_user import ExpectedSession, SoakUser
from tests.support.messages_api import KEY
from tests.support.messages_api.server import serve_api
from tests.support.server_process import environment

MODEL = "claude-opus-5-5"


@dataclass(frozen=True, slots=True)
class SoakPlan:
    """Size of a soak test."""

    rounds: int
    lanes: int
    turns: int
    """Turns per session and round."""
    seed: int = 1
    is_lasting: bool = False
    """Whether each lane has one session for all rounds."""

    @property
    def total(self) -> int:
        """Total number of turns."""
        return self.rounds * self.lanes * self.turns


@dataclass(frozen=True, slots=True)
class SoakFigures:
    """Result of a soak test."""

    samples: Sequence[Sample]
    """One sample per round, taken at rest."""
    turns: int
    requests_answered: int
    requests_unanswered: int
    asked_of_model: int
    seconds: float
    processor_seconds: float
    latencies: Sequence[Sequence[float]]
    """How long each turn that was not cut off took, in seconds, by round."""


def _ignore_sample(_: Sample) -> None:
    """Ignore a sample."""


async def run_soak(
    plan: SoakPlan, folder: Path, on_sample: Callable[[Sample], None] = _ignore_sample
) -> SoakFigures:
    """Run the soak test in an empty directory, where the server's files remain.

    Raises:
        AssertionError: an expectation was not met.
    """
    home, temporary = folder / "home", folder / "temporary"
    home.mkdir(parents=True)
    temporary.mkdir()
    began = time.monotonic()
    endpoint = SoakEndpoint()
    async with serve_api(endpoint) as api:
        variables = environment(home) | {
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": KEY,
            "TMPDIR": str(temporary),
        }
        async with run_server(variables, ["--model", MODEL], folder / "stderr.txt") as client:
            await client.request_result("initialize", {"protocolVersion": 1})
            samples, lanes, latencies = await _rounds(plan, client, folder, on_sample)
            # read while the server still runs: both are gone after its exit
            process = psutil.Process(client.process_id)
            times = process.cpu_times()
            descendants = process.children(recursive=True)
        expected = [each for lane in lanes for each in lane.expected_sessions]
        # descendants may need a moment to exit after the server
        assert await wait_for_exit(descendants) == []
        _check_leftovers(home, temporary, expected)
    return SoakFigures(
        samples,
        sum(lane.turns for lane in lanes),
        client.answered,
        client.unanswered,
        endpoint.answered,
        time.monotonic() - began,
        times.user + times.system,
        latencies,
    )


async def _rounds(
    plan: SoakPlan, client: SoakClient, folder: Path, on_sample: Callable[[Sample], None]
) -> tuple[list[Sample], list[SoakUser], list[list[float]]]:
    samples: list[Sample] = []
    latencies: list[list[float]] = []
    lanes: list[SoakUser] = []
    async with anyio.create_task_group() as tasks:
        lanes += [
            SoakUser(client, folder / f"workspace {n}", random.Random(plan.seed * 100 + n), tasks)  # noqa: S311
            for n in range(plan.lanes)
        ]
        for round_ in range(plan.rounds):
            done = round_ * plan.lanes * plan.turns
            is_last = not plan.is_lasting or round_ == plan.rounds - 1
            async with anyio.create_task_group() as living:
                for number, lane in enumerate(lanes):
                    first = done + 1 + number * plan.turns
                    living.start_soon(partial(lane.run_round, plan.turns, first, is_last=is_last))
            if is_last:
                await _wait_for_rest(client)
            assert client.unanswered == 0
            sample = take_sample(client.process_id, done + plan.lanes * plan.turns)
            on_sample(sample)
            samples.append(sample)
            latencies.append([each for lane in lanes for each in lane.take_latencies()])
    return samples, lanes, latencies


async def _wait_for_rest(client: SoakClient) -> None:
    """Wait until all processes that a turn of a closed session started have exited."""
    children = psutil.Process(client.process_id).children(recursive=True)
    await wait_for_exit(children, staying=1)  # the process that ends commands if the server dies


def _check_leftovers(home: Path, temporary: Path, expected: Sequence[ExpectedSession]) -> None:
    assert list(temporary.iterdir()) == []
    assert list(home.rglob("*.tmp")) == []
    with closing(sqlite3.connect(home / "acp" / "sessions.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM leases").fetchone() == (0,)
        for session in expected:
            rows = connection.execute(
                "SELECT body FROM messages WHERE session_id = ?", (session.session_id,)
            ).fetchall()
            stored = "\n".join(str(row[0]) for row in rows)
            assert [text for text in session.prompts if f'{text}"' not in stored] == []
