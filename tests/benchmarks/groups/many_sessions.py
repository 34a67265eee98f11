"""A hundred sessions in one process: how much memory they take above that of one."""

import time
from collections.abc import Sequence

from pydantic import JsonValue

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.figures import Figures
from tests.benchmarks.groups.turns import SETTLING_SECONDS
from tests.benchmarks.processes import tree_memory

SESSIONS = 100
TIMEOUT_SECONDS = 120.0


def measure_many_sessions(setup: AgentSetup) -> Figures:
    """Yield the memory of 99 more sessions: opened, after a turn of each, and loaded again."""
    with setup.start() as agent:
        agent.initialize()
        sessions = [agent.new_session(setup.project)]
        agent.run_turn(sessions[0], "hi")
        one = _settled_memory(agent)
        sessions += (agent.new_session(setup.project) for _ in range(SESSIONS - 1))
        idle = _settled_memory(agent) - one
        yield "hundred-idle", idle
        yield "idle-session", idle / (SESSIONS - 1)
        for session in sessions[1:]:
            agent.run_turn(session, "hi", TIMEOUT_SECONDS)
        yield "hundred-used", _settled_memory(agent) - one
    yield from _loaded(setup, sessions)


def _loaded(setup: AgentSetup, sessions: Sequence[str]) -> Figures:
    with setup.start() as agent:
        agent.initialize()
        agent.run_turn(agent.new_session(setup.project), "hi")
        _load(setup, agent, sessions[0])
        one = _settled_memory(agent)
        for session in sessions[1:]:
            _load(setup, agent, session)
        yield "hundred-loaded", _settled_memory(agent) - one


def _load(setup: AgentSetup, agent: MeasuredAgent, session: str) -> None:
    params: JsonValue = {"sessionId": session, "cwd": str(setup.project), "mcpServers": []}
    agent.call("session/load", params, TIMEOUT_SECONDS)


def _settled_memory(agent: MeasuredAgent) -> float:
    """Return the memory once the process is idle."""
    time.sleep(SETTLING_SECONDS)
    return tree_memory(agent.pid).proportional
