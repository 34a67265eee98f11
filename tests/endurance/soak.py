"""A server at work for long: many sessions, thousands of turns, faults; and what is left of it.

    figures = await soak(Plan(rounds=25, lanes=4, turns=100), folder)

A round is one session in each lane, side by side. Between rounds every session is closed and a
sample is taken (`measures`). At the end the server leaves, and what it has left is looked at.
"""

import random
import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import anyio
import psutil

from tests.endurance.client import SoakClient, server
from tests.endurance.endpoint import SoakEndpoint
from tests.endurance.lane import Kept, Lane
from tests.endurance.measures import Sample, take
from tests.support.messages_api import KEY
from tests.support.messages_api.server import serving
from tests.support.server_process import environment

MODEL = "claude-opus-5-5"
REST_SECONDS = 20.0
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is done."""

    rounds: int
    lanes: int
    turns: int
    """In each session."""
    seed: int = 1

    @property
    def total(self) -> int:
        """All turns."""
        return self.rounds * self.lanes * self.turns


@dataclass(frozen=True, slots=True)
class Figures:
    """What came of it."""

    samples: Sequence[Sample]
    """One for each round, at rest."""
    turns: int
    requests_answered: int
    requests_unanswered: int
    asked_of_model: int
    seconds: float
    processor_seconds: float


def _tell_nobody(_: Sample) -> None:
    """Keep quiet."""


async def soak(plan: Plan, folder: Path, tell: Callable[[Sample], None] = _tell_nobody) -> Figures:
    """Do it all in an empty folder; what the server leaves is in there.

    Raises:
        AssertionError: something was not as it must be.
    """
    home, temporary = folder / "home", folder / "temporary"
    home.mkdir(parents=True)
    temporary.mkdir()
    began = time.monotonic()
    endpoint = SoakEndpoint()
    async with serving(endpoint) as api:
        variables = environment(home) | {
            "ANTHROPIC_BASE_URL": api.url,
            "ANTHROPIC_API_KEY": KEY,
            "TMPDIR": str(temporary),
        }
        async with server(variables, ["--model", MODEL], folder / "stderr.txt") as client:
            await client.ask("initialize", {"protocolVersion": 1})
            samples, lanes = await _rounds(plan, client, folder, tell)
            process = psutil.Process(client.process_id)
            times = process.cpu_times()
            descendants = process.children(recursive=True)
        kept = [each for lane in lanes for each in lane.kept]
        _check_what_is_left(home, temporary, descendants, kept)
    return Figures(
        samples,
        sum(lane.turns for lane in lanes),
        client.answered,
        client.unanswered,
        endpoint.answered,
        time.monotonic() - began,
        times.user + times.system,
    )


async def _rounds(
    plan: Plan, client: SoakClient, folder: Path, tell: Callable[[Sample], None]
) -> tuple[list[Sample], list[Lane]]:
    samples: list[Sample] = []
    lanes: list[Lane] = []
    async with anyio.create_task_group() as tasks:
        lanes += [
            Lane(client, folder / f"workspace {n}", random.Random(plan.seed * 100 + n), tasks)  # noqa: S311
            for n in range(plan.lanes)
        ]
        for round_ in range(plan.rounds):
            done = round_ * plan.lanes * plan.turns
            async with anyio.create_task_group() as living:
                for number, lane in enumerate(lanes):
                    living.start_soon(lane.live, plan.turns, done + 1 + number * plan.turns)
            sample = await _at_rest(client, done + plan.lanes * plan.turns)
            tell(sample)
            samples.append(sample)
    return samples, lanes


async def _at_rest(client: SoakClient, turns: int) -> Sample:
    """Return a sample once nothing runs any more that a turn has started."""
    assert client.unanswered == 0
    with anyio.move_on_after(REST_SECONDS):
        # The watching process stays. Nothing tells of the end of the others.
        while len(take(client.process_id, turns).children) > 1:  # noqa: ASYNC110
            await anyio.sleep(LOOK_SECONDS)
    return take(client.process_id, turns)


def _check_what_is_left(
    home: Path, temporary: Path, descendants: Sequence[psutil.Process], kept: Sequence[Kept]
) -> None:
    _, alive = psutil.wait_procs(list(descendants), timeout=REST_SECONDS)
    assert alive == []
    assert list(temporary.iterdir()) == []
    assert list(home.rglob("*.tmp")) == []
    with closing(sqlite3.connect(home / "acp" / "sessions.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("SELECT count(*) FROM leases").fetchone() == (0,)
        for session in kept:
            rows = connection.execute(
                "SELECT body FROM messages WHERE session_id = ?", (session.session_id,)
            ).fetchall()
            said = "\n".join(str(row[0]) for row in rows)
            assert [text for text in session.prompts if f'{text}"' not in said] == []
