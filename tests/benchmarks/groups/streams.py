"""Streaming cost: text in many chunks, and a file that grows while it is written."""

import time

from tests.benchmarks.agent import AgentError, MeasuredAgent
from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.endpoint.answers import GROWING_PAUSE_SECONDS, GROWING_PIECES, GROWN
from tests.benchmarks.figures import Figures
from tests.benchmarks.groups.start import state_of
from tests.benchmarks.groups.turns import SETTLING_SECONDS

PACED_CHUNKS = 1_000
PACED_MILLISECONDS = 2
TIMEOUT_SECONDS = 120.0


def measure_streams(setup: AgentSetup) -> Figures:
    """Yield the streaming figures of one session."""
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        time.sleep(SETTLING_SECONDS)
        agent.run_turn(session, "hi")
        agent.run_turn(
            session, setup.format_command("chunks 2000"), TIMEOUT_SECONDS
        )  # the first turn has extra costs
        yield from _stream(setup, agent, session, 2_000)
        yield from state_of(agent, "stream")
        paced = f"paced {PACED_CHUNKS} {PACED_MILLISECONDS}"
        cpu_before = agent.cpu_seconds
        agent.run_turn(session, setup.format_command(paced), TIMEOUT_SECONDS)
        yield "paced-cpu", (agent.cpu_seconds - cpu_before) / PACED_CHUNKS * 1e6
        yield from _stream(setup, agent, agent.new_session(setup.project), 20_000)
        yield from state_of(agent, "end")
        yield from _grow(setup, agent, session)


def _stream(setup: AgentSetup, agent: MeasuredAgent, session: str, chunks: int) -> Figures:
    cpu_before = agent.cpu_seconds
    turn = agent.run_turn(session, setup.format_command(f"chunks {chunks}"), TIMEOUT_SECONDS)
    name = f"{chunks // 1000}k"
    yield f"{name}-wall", turn.milliseconds
    yield f"{name}-cpu", (agent.cpu_seconds - cpu_before) / chunks * 1e6
    yield f"{name}-updates", turn.chunks / chunks


def _grow(setup: AgentSetup, agent: MeasuredAgent, session: str) -> Figures:
    """Yield when the first part of a file was shown, and how often it grew."""
    turn = agent.run_turn(session, setup.format_command("grow"))
    arguments_seconds = GROWING_PIECES * GROWING_PAUSE_SECONDS
    early = [at for at, _ in turn.diffs if at - turn.started_at < arguments_seconds]
    partial = [size for _, size in turn.diffs if size < len(GROWN)]
    yield "grow-updates", float(len(partial))
    yield "grow-early", float(len(early))
    is_shown = bool(turn.diffs)
    never = AgentError("sends no diff of a file that is written")
    yield "grow-first", (turn.diffs[0][0] - turn.started_at) * 1000 if is_shown else never
