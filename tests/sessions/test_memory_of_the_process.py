"""A server that works for long needs no more and more memory for what it keeps."""

from pathlib import Path

import pytest

from tests.support.server_process import ServerProcess, start_server

SCRIPT = """\
prompt: *
think: I think about it.
say: I write it down, in a few words that are said again and again.
call: todo
  todos: [{id: "1", content: one, status: in_progress}]
step:
say: Done, and told in a sentence or two, as an answer is.
"""
SETTLING_TURNS = 50
BYTES_PER_TURN = 40_000
"""What a turn may leave: its messages, which a session has at hand, and the tests' slack."""


def grown(server: ServerProcess, home: Path, turns: int) -> float:
    """Return by how much a server grows, in bytes a turn, once it has settled."""
    server.initialize()
    session = server.new_session(str(home))
    for _ in range(SETTLING_TURNS):
        server.prompt(session)
        server.messages.clear()
    before = server.memory_bytes()
    for _ in range(turns):
        server.prompt(session)
        server.messages.clear()
    after = server.memory_bytes()
    print(f"{turns} turns: {before / 2**20:.1f} -> {after / 2**20:.1f} MiB")  # noqa: T201  figures
    return (after - before) / turns


def test_a_hundred_turns_use_little_more_memory_than_their_messages(tmp_path: Path) -> None:
    with start_server(tmp_path, SCRIPT, new_interpreter=True) as server:
        assert grown(server, tmp_path, 100) < BYTES_PER_TURN


@pytest.mark.full
def test_a_thousand_turns_use_little_more_memory_than_their_messages(tmp_path: Path) -> None:
    with start_server(tmp_path, SCRIPT, new_interpreter=True) as server:
        assert grown(server, tmp_path, 1_000) < BYTES_PER_TURN / 4
