"""Turns of an open session: the first one, warm ones, and one tool round trip."""

import statistics
import time

from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.figures import Figures
from tests.benchmarks.groups.start import state_of

SETTLING_SECONDS = 2.5
WARM_TURNS = 20
TOOL_TURNS = 7


def measure_turns(setup: AgentSetup) -> Figures:
    """Yield the turn figures of one session."""
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        time.sleep(SETTLING_SECONDS)
        yield from state_of(agent, "settled")
        first = agent.run_turn(session, "hi")
        yield "settled-chunk", first.first_milliseconds
        yield "settled-turn", first.milliseconds
        cpu_before = agent.cpu_seconds
        warm = [agent.run_turn(session, "hi") for _ in range(WARM_TURNS)]
        yield "warm-cpu", (agent.cpu_seconds - cpu_before) / WARM_TURNS * 1000
        yield "warm-chunk", statistics.median(turn.first_milliseconds for turn in warm)
        yield "warm-turn", statistics.median(turn.milliseconds for turn in warm)
        tools = [agent.run_turn(session, setup.format_command("read")) for _ in range(TOOL_TURNS)]
        yield "tool-turn", statistics.median(turn.milliseconds for turn in tools)
        yield from state_of(agent, "turns")
