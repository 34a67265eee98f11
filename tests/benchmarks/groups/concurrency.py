"""Fifty concurrent sessions in one process: fairness, and memory per session."""

import statistics

from tests.benchmarks.agent_setup import Lab
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import memory_of

SESSIONS = 50
CHUNKS = 10
PAUSE_MILLISECONDS = 50
PATIENCE_SECONDS = 180.0


def measure_crowd(lab: Lab) -> Figures:
    """Yield the figures of fifty concurrent turns, each half a second long by itself."""
    with lab.start() as agent:
        agent.initialize()
        first = agent.new_session(lab.project)
        agent.turn(first, "hi")
        before = memory_of(agent.pid).proportional
        sessions = [first, *(agent.new_session(lab.project) for _ in range(SESSIONS - 1))]
        idle = memory_of(agent.pid).proportional
        yield "idle-session", (idle - before) / (SESSIONS - 1)
        paced = lab.order(f"paced {CHUNKS} {PAUSE_MILLISECONDS}")
        spent = agent.cpu_seconds
        turns = [agent.begin_turn(session, paced) for session in sessions]
        agent.finish(turns, PATIENCE_SECONDS)
        yield "crowd-cpu", (agent.cpu_seconds - spent) / SESSIONS * 1000
        took = [turn.milliseconds for turn in turns]
        firsts = [turn.first_milliseconds for turn in turns]
        yield "crowd-chunk", max(firsts)
        yield "crowd-median", statistics.median(took)
        yield "crowd-worst", max(took)
        yield "crowd-spread", max(took) - min(took)
        yield "used-session", (memory_of(agent.pid).proportional - before) / (SESSIONS - 1)
