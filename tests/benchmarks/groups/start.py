"""Start-up: time from spawn to the first responses, memory and CPU time."""

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.clock import milliseconds_since, time_ms
from tests.benchmarks.figures import Figures
from tests.benchmarks.processes import tree_memory


def measure_start(setup: AgentSetup) -> Figures:
    """Yield the figures of two processes: one left idle, one prompted immediately."""
    with setup.start() as agent:
        agent.initialize()
        yield "initialize", milliseconds_since(agent.started_at)
        yield from state_of(agent, "initialize")
        agent.new_session(setup.project)
        yield "session", milliseconds_since(agent.started_at)
        yield from state_of(agent, "session")
        yield "second-session", time_ms(lambda: agent.new_session(setup.project))
    with setup.start() as agent:
        agent.initialize()
        session, cpu_before = agent.new_session(setup.project), agent.cpu_seconds
        turn = agent.run_turn(session, "hi")
        yield "at-once-cpu", (agent.cpu_seconds - cpu_before) * 1000
        yield "at-once-chunk", turn.first_milliseconds
        yield "at-once-turn", turn.milliseconds
        yield "at-once-total", (turn.ended_at - agent.started_at) * 1000


def state_of(agent: MeasuredAgent, prefix: str) -> Figures:
    """Yield the agent's current memory and CPU time."""
    cpu_seconds = agent.cpu_seconds
    memory = tree_memory(agent.pid)
    yield f"{prefix}-pss", memory.proportional
    yield f"{prefix}-rss", memory.resident
    yield f"{prefix}-cpu", cpu_seconds
