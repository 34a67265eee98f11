"""Robustness: invalid and very long lines, cancellation, a client that disconnects."""

import time
from functools import partial

from pydantic import JsonValue

from tests.benchmarks.agent import Agent, AgentError, RefusedError
from tests.benchmarks.agent_setup import Lab
from tests.benchmarks.clock import milliseconds_since
from tests.benchmarks.figures import Figures, attempt
from tests.benchmarks.processes import end, family_of

MALFORMED = (b"[1, 2]", b"3", b"null", b'"a text"', b"{", b"\xff\xfe")
LENGTHS_MEBIBYTES = (1, 10, 50)
EDITS = 7
RUNNING_SECONDS = 1.0
PACE_MILLISECONDS = 25
STREAMED_SECONDS = 2.0
PATIENCE_SECONDS = 20.0


def measure_faults(lab: Lab) -> Figures:
    """Yield the figures of several faulty runs."""
    yield "malformed", float(sum(_is_borne(lab, line) for line in MALFORMED))
    yield "edits", attempt(lambda: _edits(lab))
    for size in LENGTHS_MEBIBYTES:
        yield f"line-{size}", attempt(partial(_line, lab, size * 2**20))
    yield "killed", attempt(lambda: _lost(lab))
    yield "leave", attempt(lambda: _leave(lab))
    with lab.start() as agent:
        session, number = _running(lab, agent)
        yield "cancel", attempt(lambda: _cancel(agent, session, number))
        yield "after-cancel", attempt(lambda: float(agent.turn(session, "hi", 20).chunks > 0))


def _edits(lab: Lab) -> float:
    with lab.start() as agent:
        agent.initialize()
        session = agent.new_session(lab.project)
        return float(agent.turn(session, lab.order(f"edits {EDITS}")).completed_calls)


def _lost(lab: Lab) -> float:
    """Return how many milliseconds of a stream are lost when the agent is killed during it."""
    with lab.start() as agent:
        agent.initialize()
        session = agent.new_session(lab.project)
        agent.turn(session, "hi")
        turn = agent.begin_turn(session, lab.order(f"paced 400 {PACE_MILLISECONDS}"))
        agent.listen(STREAMED_SECONDS)
        agent.kill()
    with lab.start() as agent:
        agent.initialize()
        seen = agent.watch(session)
        params: JsonValue = {"sessionId": session, "cwd": str(lab.project), "mcpServers": []}
        agent.call("session/load", params, PATIENCE_SECONDS)
        if not seen.said:
            raise AgentError("nothing of the session was kept")
        return float(max(turn.said + 1 - seen.said, 0) * PACE_MILLISECONDS)


def _is_borne(lab: Lab, line: bytes) -> bool:
    """Return whether the agent still answers after this line."""
    with lab.start() as agent:
        agent.initialize()
        try:
            agent.send_line(line)
            agent.call("bench/none", {}, PATIENCE_SECONDS)
        except RefusedError:
            return True
        except AgentError:
            return False
        return True


def _line(lab: Lab, size: int) -> float:
    with lab.start() as agent:
        agent.initialize()
        session = agent.new_session(lab.project)
        agent.turn(session, "hi")
        begun = time.perf_counter()
        try:
            agent.turn(session, "word " * (size // 5))
        except RefusedError:  # an error response counts too, if it is quick
            return milliseconds_since(begun)
        return milliseconds_since(begun)


def _running(lab: Lab, agent: Agent) -> tuple[str, int]:
    """Start a turn with a long-running tool; return the session id and the request id."""
    agent.initialize()
    session = agent.new_session(lab.project)
    agent.turn(session, "hi")
    turn = agent.begin_turn(session, lab.order("run 40"))
    agent.listen(RUNNING_SECONDS)
    return session, turn.number


def _cancel(agent: Agent, session: str, number: int) -> float:
    begun = time.perf_counter()
    params: JsonValue = {"sessionId": session}
    agent.send({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
    agent.wait_for(number, PATIENCE_SECONDS)
    return milliseconds_since(begun)


def _leave(lab: Lab) -> float:
    """Return how long the agent and its children live after the client disconnects."""
    with lab.start() as agent:
        _running(lab, agent)
        family = family_of(agent.pid)
        begun = time.perf_counter()
        try:
            agent.hang_up()
            if agent.wait(PATIENCE_SECONDS) is None:
                raise AgentError(f"is there {PATIENCE_SECONDS:.0f} s after its editor has left")
            while any(each.is_running() for each in family):
                if milliseconds_since(begun) > PATIENCE_SECONDS * 1000:
                    raise AgentError("leaves children behind")
                time.sleep(0.01)
        finally:
            end(family)
        return milliseconds_since(begun)
