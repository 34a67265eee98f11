"""A large library of skills: what it adds to the first prompt of a process."""

import statistics

from tests.benchmarks.agent import AgentError
from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.figures import Figures
from tests.benchmarks.skills import make_skills

SKILLS = 3_000
PAIRS = 3
SKILL_FOLDERS = {"acp-server": "skills", "hermes": ".hermes/skills"}
"""The user's own skills, below the home of each agent."""


def measure_many_skills(setup: AgentSetup) -> Figures:
    """Yield processor time above that of a home without skills, by starts in turn."""
    folder = SKILL_FOLDERS.get(setup.peer.name)
    if folder is None:
        error = AgentError("where it looks for skills in categories is not known here")
        yield "skills-new-home", error
        yield "skills-first", error
        return
    without, filled = setup.with_new_home("no-skills"), setup.with_new_home("skills")
    make_skills(filled.location.home / folder, SKILLS)
    yield "skills-new-home", -_first_prompt_ms(without) + _first_prompt_ms(filled)
    added = [-_first_prompt_ms(without) + _first_prompt_ms(filled) for _ in range(PAIRS)]
    yield "skills-first", statistics.median(added)


def _first_prompt_ms(setup: AgentSetup) -> float:
    """Return the processor time from the start of a process to its first answer."""
    with setup.start() as agent:
        agent.initialize()
        agent.run_turn(agent.new_session(setup.project), "hi")
        return agent.cpu_seconds * 1000
