"""Fifty sessions in one real process, all at work at the same time."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.handlers import expected
from tests.support.editor import json_at, prompt_params
from tests.support.server_process import ServerProcess, start_server

SESSIONS = 50
CHUNKS = 200
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
    """How far the most and the least advanced of the unfinished turns were ever apart."""
    chunk_counts = Counter(dict.fromkeys(sessions, 0))
    furthest = 0
    for session in chunks:
        chunk_counts[session] += 1
        going = [count for count in chunk_counts.values() if count < CHUNKS]
        if going:
            furthest = max(furthest, max(going) - min(going))
    return furthest


@pytest.mark.parametrize("pause_seconds", [0.0, 0.3], ids=["quick reader", "slow reader"])
def test_fifty_turns_in_fifty_directories_advance_evenly(
    tmp_path: Path, pause_seconds: float
) -> None:
    with start_server(tmp_path, SCRIPT) as server:
        sessions = open_sessions(server, tmp_path)
        apart: list[int] = []
        while len(apart) < MOST_ROUNDS and min(apart, default=CHUNKS) > MOST_APART:
            chunks = prompt_all(server, sessions, "go", pause_seconds=pause_seconds)
            assert Counter(chunks) == Counter(dict.fromkeys(sessions, CHUNKS))
            apart.append(most_apart(chunks, sessions))
        server.close_stdin()
        assert server.wait() == 0

    assert min(apart) <= MOST_APART
    assert server.stderr() == ""


def test_fifty_turns_take_little_longer_than_one(tmp_path: Path) -> None:
    with start_server(tmp_path, SCRIPT) as server:
        sessions = open_sessions(server, tmp_path)
        begin = time.monotonic()
        prompt_all(server, sessions, "slowly", pause_seconds=0)
        # one after the other they take longer, on any machine
        assert time.monotonic() - begin < SESSIONS * SLOW_TURN_SECONDS
