"""Stored sessions: time to load a long one, and to list many."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from pydantic import JsonValue

from tests.benchmarks.agent import Agent, AgentError
from tests.benchmarks.agent_setup import Lab
from tests.benchmarks.clock import timed
from tests.benchmarks.figures import Figures, attempt
from tests.benchmarks.session_stores import STORES

PLAYED_TURNS = 15
LENGTHS = (150, 1_500)
SESSIONS = 1_000
PATIENCE_SECONDS = 120.0


class Past:
    """Agents with stored sessions, prepared once per agent and measured repeatedly."""

    def __init__(self) -> None:
        self._made: dict[str, tuple[Lab, str] | AgentError] = {}

    def measure(self, lab: Lab) -> Figures:
        """Yield the times of loads and lists in a process that has opened a session before."""
        for length in LENGTHS:
            yield f"load-{length}", attempt(partial(self._load, lab, length))
        many, _ = self._with(lab, "many", lambda: _many(lab))
        with _awake(many) as agent:
            agent.call("session/list", {})
            yield "list-page", min(timed(lambda: agent.call("session/list", {})) for _ in range(3))
            begun = time.perf_counter()
            found = _all_pages(agent)
            yield "list-all", (time.perf_counter() - begun) * 1000
            yield "list-count", float(found)

    def _load(self, lab: Lab, length: int) -> float:
        long, session = self._with(lab, f"turns-{length}", lambda: _long(lab, length))
        params: JsonValue = {"sessionId": session, "cwd": str(long.project), "mcpServers": []}
        with _awake(long) as agent:
            seen = agent.watch(session)
            took = timed(lambda: agent.call("session/load", params, PATIENCE_SECONDS))
            if seen.said < length:
                raise AgentError(f"shows {seen.said} of {length} turns again")
            return took

    def _with(self, lab: Lab, name: str, make: Callable[[], tuple[Lab, str]]) -> tuple[Lab, str]:
        key = f"{lab.place.home} {name}"  # each repeat has its own directories
        if key not in self._made:
            try:
                self._made[key] = make()
            except AgentError as error:
                self._made[key] = error
        made = self._made[key]
        if isinstance(made, AgentError):
            raise made
        return made


def _long(lab: Lab, turns: int) -> tuple[Lab, str]:
    """Play some turns and multiply them in the store, or play all of them."""
    lab = lab.elsewhere(f"turns-{turns}")
    store = STORES.get(lab.peer.name)
    if store is None and turns > LENGTHS[0]:
        raise AgentError("its store is not known here, and so many turns are not played")
    played = PLAYED_TURNS if store is not None else turns
    session = _play(lab, played)
    if store is not None:
        store.lengthen(lab.place.home, session, turns // played)
    return lab, session


def _many(lab: Lab) -> tuple[Lab, str]:
    lab = lab.elsewhere("many")
    store = STORES.get(lab.peer.name)
    if store is None:
        raise AgentError("its store is not known here, and so many sessions are not played")
    session = _play(lab, 1)
    store.multiply(lab.place.home, session, SESSIONS - 1)
    return lab, session


def _play(lab: Lab, turns: int) -> str:
    with lab.start() as agent:
        agent.initialize()
        session = agent.new_session(lab.project)
        for _ in range(turns):
            agent.turn(session, lab.order("read"))
        return session


@contextmanager
def _awake(lab: Lab) -> Generator[Agent]:
    """Start an agent and open a session, so that its lazy imports are not measured."""
    with lab.start() as agent:
        agent.initialize()
        agent.new_session(lab.project)
        yield agent


def _all_pages(agent: Agent) -> int:
    result, _ = agent.call("session/list", {})
    found = _count(result["sessions"])
    while result.get("nextCursor"):
        result, _ = agent.call("session/list", {"cursor": result["nextCursor"]})
        found += _count(result["sessions"])
    return found


def _count(sessions: JsonValue) -> int:
    return len(sessions) if isinstance(sessions, list) else 0
