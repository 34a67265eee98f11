"""A server that works for long needs no more and more memory for what it keeps."""

from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.history.archive import LazyArchive
from acp_server.turn.conversation import AssistantMessage, Text, UserMessage
from acp_server.turn.events import CallAppeared, CallChanged, FileDiff, MessageChunk, PromptReceived
from tests.history.samples import make_facts
from tests.support.case_table import named_case
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
SETTLING_TURNS = 30
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


@pytest.mark.full
def test_a_thousand_turns_use_little_more_memory_than_their_messages(tmp_path: Path) -> None:
    with start_server(tmp_path, SCRIPT, new_interpreter=True) as server:
        assert grown(server, tmp_path, 1_000) < BYTES_PER_TURN / 4


EDITS = 300
CHARACTERS = 100_000
MAX_GROWTH_BYTES = 15_000_000
"""What loading may take; the history has twice as much."""


async def write_long_session(home: Path) -> None:
    """Store a session with edits of a long file, and a summary that replaced its conversation."""
    archive = LazyArchive(home / "acp" / "sessions.db")
    journal = archive.create(make_facts("long", cwd=str(home)))
    for number in range(EDITS):
        prompt, call = Text(f"edit {number}"), f"c{number}"
        journal.begin_turn()
        journal.show(PromptReceived(f"p{number}", (prompt,)))
        journal.append(UserMessage((prompt,)))
        journal.show(CallAppeared(call, "patch", "edit"))
        diff = FileDiff("/a", None, f"{number} " + "x" * CHARACTERS)
        journal.show(CallChanged(call, "completed", content=(diff,)))
        journal.show(MessageChunk(f"m{number}", "Done."))
        journal.append(AssistantMessage((Text("Done."),)))
        journal.end_turn()
        await journal.commit()
    journal.rebuild([UserMessage((Text("A summary."),)), AssistantMessage((Text("Good."),))])
    await archive.close()


def test_neither_sixty_turns_nor_a_client_that_reads_slowly_make_a_server_grow(
    tmp_path: Path,
) -> None:
    anyio.run(write_long_session, tmp_path)
    with start_server(tmp_path, SCRIPT, new_interpreter=True) as server:
        with named_case("turns leave little more than their messages"):
            assert grown(server, tmp_path, 60) < BYTES_PER_TURN
        before = server.memory_bytes()
        params: JsonValue = {"sessionId": "long", "cwd": str(tmp_path), "mcpServers": []}
        request = server.start_request("session/load", params)
        server.wait_until_write_blocked()
        taken = server.memory_bytes() - before
        server.messages.clear()
        assert "result" in server.receive_response(request)
        edits = [each for each in server.messages if "x" * CHARACTERS in str(each)]
        assert len(edits) == EDITS
        server.messages.clear()
        assert max(taken, server.memory_bytes() - before) < MAX_GROWTH_BYTES
