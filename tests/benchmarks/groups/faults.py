"""Robustness: invalid and very long lines, cancellation, a client that disconnects."""

import time
from functools import partial

from pydantic import JsonValue

from tests.benchmarks.agent import AgentError, AgentRequestError, MeasuredAgent
from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.clock import milliseconds_since
from tests.benchmarks.figures import Figures, measure_or_error
from tests.benchmarks.processes import kill_all, process_tree

MALFORMED = (b"[1, 2]", b"3", b"null", b'"a text"', b"{", b"\xff\xfe")
LENGTHS_MEBIBYTES = (1, 10, 50)
EDITS = 7
RUNNING_SECONDS = 1.0
PACE_MILLISECONDS = 25
STREAMED_SECONDS = 2.0
TIMEOUT_SECONDS = 20.0


def measure_faults(setup: AgentSetup) -> Figures:
    """Yield the figures of several faulty runs."""
    yield "malformed", float(sum(_survives_line(setup, line) for line in MALFORMED))
    yield "edits", measure_or_error(lambda: _measure_edits(setup))
    for size in LENGTHS_MEBIBYTES:
        yield f"line-{size}", measure_or_error(partial(_measure_line, setup, size * 2**20))
    yield "killed", measure_or_error(lambda: _measure_lost_stream(setup))
    yield "leave", measure_or_error(lambda: _measure_exit(setup))
    with setup.start() as agent:
        session, number = _start_long_tool(setup, agent)
        yield "cancel", measure_or_error(lambda: _measure_cancel(agent, session, number))
        yield (
            "after-cancel",
            measure_or_error(lambda: float(agent.run_turn(session, "hi", 20).chunks > 0)),
        )


def _measure_edits(setup: AgentSetup) -> float:
    for earlier in setup.project.glob("edit-*.txt"):  # which an agent may not replace unread
        earlier.unlink()
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        return float(
            agent.run_turn(session, setup.format_command(f"edits {EDITS}")).completed_calls
        )


def _measure_lost_stream(setup: AgentSetup) -> float:
    """Return how many milliseconds of a stream are lost when the agent is killed during it."""
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        agent.run_turn(session, "hi")
        turn = agent.start_turn(session, setup.format_command(f"paced 400 {PACE_MILLISECONDS}"))
        agent.process_messages(STREAMED_SECONDS)
        agent.kill()
    with setup.start() as agent:
        agent.initialize()
        seen = agent.record_session(session)
        params: JsonValue = {"sessionId": session, "cwd": str(setup.project), "mcpServers": []}
        agent.call("session/load", params, TIMEOUT_SECONDS)
        if not seen.text_pieces:
            raise AgentError("nothing of the session was kept")
        return float(max(turn.text_pieces + 1 - seen.text_pieces, 0) * PACE_MILLISECONDS)


def _survives_line(setup: AgentSetup, line: bytes) -> bool:
    """Return whether the agent still answers after this line."""
    with setup.start() as agent:
        agent.initialize()
        try:
            agent.send_line(line)
            agent.call("bench/none", {}, TIMEOUT_SECONDS)
        except AgentRequestError:
            return True
        except AgentError:
            return False
        return True


def _measure_line(setup: AgentSetup, size: int) -> float:
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        agent.run_turn(session, "hi")
        started_at = time.perf_counter()
        try:
            agent.run_turn(session, "word " * (size // 5))
        except AgentRequestError:  # an error response counts too, if it is quick
            return milliseconds_since(started_at)
        return milliseconds_since(started_at)


def _start_long_tool(setup: AgentSetup, agent: MeasuredAgent) -> tuple[str, int]:
    """Start a turn with a long-running tool; return the session id and the request id."""
    agent.initialize()
    session = agent.new_session(setup.project)
    agent.run_turn(session, "hi")
    turn = agent.start_turn(session, setup.format_command("run 40"))
    agent.process_messages(RUNNING_SECONDS)
    return session, turn.number


def _measure_cancel(agent: MeasuredAgent, session: str, number: int) -> float:
    started_at = time.perf_counter()
    params: JsonValue = {"sessionId": session}
    agent.send_message({"jsonrpc": "2.0", "method": "session/cancel", "params": params})
    agent.wait_for_response(number, TIMEOUT_SECONDS)
    return milliseconds_since(started_at)


def _measure_exit(setup: AgentSetup) -> float:
    """Return how long the agent and its children live after the client disconnects."""
    with setup.start() as agent:
        _start_long_tool(setup, agent)
        family = process_tree(agent.pid)
        started_at = time.perf_counter()
        try:
            agent.close_stdin()
            if agent.wait_for_exit(TIMEOUT_SECONDS) is None:
                raise AgentError(f"is there {TIMEOUT_SECONDS:.0f} s after its editor has left")
            while any(each.is_running() for each in family):
                if milliseconds_since(started_at) > TIMEOUT_SECONDS * 1000:
                    raise AgentError("leaves children behind")
                time.sleep(0.01)
        finally:
            kill_all(family)
        return milliseconds_since(started_at)
