"""Fifty sessions in one real process, all at work at the same time."""

import json
import time
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.handlers import expected
from tests.support.editor import json_at, prompt_params
from tests.support.server_process import ServerProcess, start_server

SESSIONS = 50
CHUNKS = 100
MOST_APART = 2
"""How many chunks the most and the least advanced turn may be apart at any moment; 1 is usual."""
MOST_ROUNDS = 4
"""A machine that is busy elsewhere holds up single turns; what counts is the best round."""

SCRIPT = f"""\
prompt: begin
say: .

prompt: slowly
pace: 20ms
chunks: 20 word

prompt: *
chunks: {CHUNKS} word
"""
SLOW_TURN_SECONDS = 0.4


def open_sessions(server: ServerProcess, folder: Path) -> list[str]:
    """Open the sessions, each in a folder of its own, with its script already loaded."""
    server.initialize()
    sessions: list[str] = []
    for number in range(SESSIONS):
        cwd = folder / f"project {number}"
        cwd.mkdir()
        sessions.append(server.new_session(str(cwd)))
    for session in sessions:
        server.prompt(session, "begin")
    return sessions


def prompt_all(
    server: ServerProcess, sessions: list[str], text: str, *, pause_seconds: float
) -> list[str]:
    """Prompt every session in one write; return the session of each chunk, in order."""
    ids = range(1000, 1000 + len(sessions))
    requests = [
        {"jsonrpc": "2.0", "id": number, "method": "session/prompt", "params": params}
        for number, params in zip(
            ids, (prompt_params(session, text) for session in sessions), strict=True
        )
    ]
    server.send_bytes(b"".join(json.dumps(each).encode() + b"\n" for each in requests))
    time.sleep(pause_seconds)  # a reader that is busy elsewhere: the server has to wait
    unanswered, chunks = set(ids), list[str]()
    while unanswered:
        message = server.receive()
        if "method" in message:
            chunks.append(str(json_at(message, "params", "sessionId")))
        else:
            assert message["result"] == expected.END_TURN
            unanswered.remove(int(str(message["id"])))
    return chunks


def most_apart(chunks: list[str], sessions: list[str]) -> int:
    """How far the most and the least advanced of the unfinished turns were ever apart.

    Counted from the moment at which all turns have begun: what is read before a turn takes threads,
    which are fewer. If some were half done by then, they were not even.
    """
    counts = Counter(dict.fromkeys(sessions, 0))
    begun_at: Counter[str] | None = None
    furthest = 0
    for session in chunks:
        counts[session] += 1
        if begun_at is None:
            begun_at = counts.copy() if min(counts.values()) else None
            continue
        going = [counts[each] - begun_at[each] for each in counts if counts[each] < CHUNKS]
        if going:
            furthest = max(furthest, max(going) - min(going))
    if begun_at is None or max(begun_at.values()) >= CHUNKS / 2:
        return CHUNKS
    return furthest


@pytest.fixture(scope="module")
def opened(
    tmp_path_factory: pytest.TempPathFactory,
) -> Generator[tuple[ServerProcess, list[str]]]:
    """A server with all sessions open, which ends cleanly after the tests."""
    folder = tmp_path_factory.mktemp("fifty")
    with start_server(folder, SCRIPT) as server:
        yield server, open_sessions(server, folder)
        server.close_stdin()
        server.receive_until_end()
        assert server.wait() == 0
        assert server.stderr() == ""


@pytest.mark.parametrize("pause_seconds", [0.0, 0.3], ids=["quick reader", "slow reader"])
def test_fifty_turns_in_fifty_directories_advance_evenly(
    opened: tuple[ServerProcess, list[str]], pause_seconds: float
) -> None:
    server, sessions = opened
    apart: list[int] = []
    while len(apart) < MOST_ROUNDS and min(apart, default=CHUNKS) > MOST_APART:
        chunks = prompt_all(server, sessions, "go", pause_seconds=pause_seconds)
        assert Counter(chunks) == Counter(dict.fromkeys(sessions, CHUNKS))
        apart.append(most_apart(chunks, sessions))
    assert min(apart) <= MOST_APART


def test_fifty_turns_take_little_longer_than_one(opened: tuple[ServerProcess, list[str]]) -> None:
    server, sessions = opened
    begin = time.monotonic()
    prompt_all(server, sessions, "slowly", pause_seconds=0)
    # one after the other they take longer, on any machine
    assert time.monotonic() - begin < SESSIONS * SLOW_TURN_SECONDS
