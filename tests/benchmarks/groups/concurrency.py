"""Fifty concurrent sessions in one process: fairness, and memory of each after its turn."""

import statistics

from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import tree_memory

SESSIONS = 50
CHUNKS = 10
PAUSE_MILLISECONDS = 50
TIMEOUT_SECONDS = 180.0


def measure_concurrency(setup: AgentSetup) -> Figures:
    """Yield the figures of fifty concurrent turns, each half a second long by itself."""
    with setup.start() as agent:
        agent.initialize()
        first = agent.new_session(setup.project)
        agent.run_turn(first, "hi")
        before = tree_memory(agent.pid).proportional
        # All alike: one that had a turn before needs no preparation, so it would always end first.
        sessions = [agent.new_session(setup.project) for _ in range(SESSIONS)]
        paced = setup.format_command(f"paced {CHUNKS} {PAUSE_MILLISECONDS}")
        cpu_before = agent.cpu_seconds
        turns = [agent.start_turn(session, paced) for session in sessions]
        agent.wait_for_turns(turns, TIMEOUT_SECONDS)
        yield "crowd-cpu", (agent.cpu_seconds - cpu_before) / SESSIONS * 1000
        took = [turn.milliseconds for turn in turns]
        firsts = [turn.first_milliseconds for turn in turns]
        yield "crowd-chunk", max(firsts)
        yield "crowd-median", statistics.median(took)
        yield "crowd-worst", max(took)
        yield "crowd-spread", max(took) - min(took)
        yield "used-session", (tree_memory(agent.pid).proportional - before) / SESSIONS
