"""Stored sessions: time to load a long one, and to list many."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial

from pydantic import JsonValue

from tests.benchmarks.agent import AgentError, MeasuredAgent
from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.clock import time_ms
from tests.benchmarks.figures import Figures, measure_or_error
from tests.benchmarks.groups.turns import SETTLING_SECONDS
from tests.benchmarks.processes import sampled_memory
from tests.benchmarks.session_stores import STORES

PLAYED_TURNS = 15
LENGTHS = (150, 1_500)
LONGEST = 15_000
SESSIONS = 1_000
TIMEOUT_SECONDS = 120.0


class StoredSessionBenchmark:
    """Agents with stored sessions, prepared once per agent and measured repeatedly."""

    def __init__(self) -> None:
        self._prepared: dict[str, tuple[AgentSetup, str] | AgentError] = {}

    def measure(self, setup: AgentSetup) -> Figures:
        """Yield the times of loads and lists in a process that has opened a session before."""
        for length in LENGTHS:
            yield f"load-{length}", measure_or_error(partial(self._measure_load, setup, length))
        yield from self._measure_longest(setup)
        many, _ = self._prepare_once(setup, "many", lambda: _make_many_sessions(setup))
        with _started_agent(many) as agent:
            agent.call("session/list", {})
            yield (
                "list-page",
                min(time_ms(lambda: agent.call("session/list", {})) for _ in range(3)),
            )
            started_at = time.perf_counter()
            found = _list_all_pages(agent)
            yield "list-all", (time.perf_counter() - started_at) * 1000
            yield "list-count", float(found)

    def _measure_load(self, setup: AgentSetup, length: int) -> float:
        long, session = self._prepare_once(
            setup, f"turns-{length}", lambda: _make_long_session(setup, length)
        )
        params: JsonValue = {"sessionId": session, "cwd": str(long.project), "mcpServers": []}
        with _started_agent(long) as agent:
            seen = agent.record_session(session)
            took = time_ms(lambda: agent.call("session/load", params, TIMEOUT_SECONDS))
            if seen.text_pieces < length:
                raise AgentError(f"shows {seen.text_pieces} of {length} turns again")
            return took

    def _measure_longest(self, setup: AgentSetup) -> Figures:
        """Yield processor time and the most memory of one load."""
        try:
            long, session = self._prepare_once(
                setup, "longest", lambda: _make_long_session(setup, LONGEST)
            )
            with _started_agent(long) as agent:
                time.sleep(SETTLING_SECONDS)
                params: JsonValue = {
                    "sessionId": session,
                    "cwd": str(long.project),
                    "mcpServers": [],
                }
                before = agent.cpu_seconds
                with sampled_memory(agent.pid) as memory:
                    agent.call("session/load", params, TIMEOUT_SECONDS)
                yield "load-15000-cpu", agent.cpu_seconds - before
                yield "load-15000-pss", memory.most
        except AgentError as error:
            yield "load-15000-cpu", error
            yield "load-15000-pss", error

    def _prepare_once(
        self, setup: AgentSetup, name: str, make: Callable[[], tuple[AgentSetup, str]]
    ) -> tuple[AgentSetup, str]:
        key = f"{setup.location.home} {name}"  # each repeat has its own directories
        if key not in self._prepared:
            try:
                self._prepared[key] = make()
            except AgentError as error:
                self._prepared[key] = error
        made = self._prepared[key]
        if isinstance(made, AgentError):
            raise made
        return made


def _make_long_session(setup: AgentSetup, turns: int) -> tuple[AgentSetup, str]:
    """Play some turns and multiply them in the store, or play all of them."""
    setup = setup.with_new_home(f"turns-{turns}")
    store = STORES.get(setup.peer.name)
    if store is None and turns > LENGTHS[0]:
        raise AgentError("its store is not known here, and so many turns are not played")
    played = PLAYED_TURNS if store is not None else turns
    session = _play(setup, played)
    if store is not None:
        store.lengthen(setup.location.home, session, turns // played)
    return setup, session


def _make_many_sessions(setup: AgentSetup) -> tuple[AgentSetup, str]:
    setup = setup.with_new_home("many")
    store = STORES.get(setup.peer.name)
    if store is None:
        raise AgentError("its store is not known here, and so many sessions are not played")
    session = _play(setup, 1)
    store.multiply(setup.location.home, session, SESSIONS - 1)
    return setup, session


def _play(setup: AgentSetup, turns: int) -> str:
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        for _ in range(turns):
            agent.run_turn(session, setup.format_command("read"))
        return session


@contextmanager
def _started_agent(setup: AgentSetup) -> Generator[MeasuredAgent]:
    """Start an agent and open a session, so that its lazy imports are not measured."""
    with setup.start() as agent:
        agent.initialize()
        agent.new_session(setup.project)
        yield agent


def _list_all_pages(agent: MeasuredAgent) -> int:
    result, _ = agent.call("session/list", {})
    found = _count(result["sessions"])
    while result.get("nextCursor"):
        result, _ = agent.call("session/list", {"cursor": result["nextCursor"]})
        found += _count(result["sessions"])
    return found


def _count(sessions: JsonValue) -> int:
    return len(sessions) if isinstance(sessions, list) else 0
