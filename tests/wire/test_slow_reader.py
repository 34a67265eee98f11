"""A client that reads slowly, or not at all: nothing piles up, and nothing else has to wait."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil
import pytest
from anyio import lowlevel

from acp_server.turn.ports import ModelRequest, ModelStop, ReceiveEvent, TextDelta
from tests.support.editor import (
    Editor,
    Object,
    json_at,
    make_configuration,
    open_editor,
    take_checkpoint,
)
from tests.support.server_process import ServerProcess, start_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

MIB = 1024 * 1024
TEXT = "x" * 1000
CHUNKS = f"prompt: *\nchunks: {{count}} {TEXT}"
CAPACITY_BYTES = 20_000
CANCELLED: Object = {"stopReason": "cancelled"}


@dataclass
class EndlessModel:
    """A model that talks for ever, and counts."""

    chunk_count: int = field(default=0)

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        while len(request.messages):
            await receive(TextDelta(TEXT))
            self.chunk_count += 1
            await lowlevel.checkpoint()
        return "end_turn"


async def settle() -> None:
    for _ in range(500):
        await lowlevel.checkpoint()


async def start_endless_turn(editor: Editor) -> str:
    """Open a session and let the model talk until nobody takes any more."""
    session_id = await editor.new_session()
    editor.stop_reading()
    editor.start_prompt(session_id, "talk")
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        while editor.server_end.has_capacity:
            await lowlevel.checkpoint()
    return session_id


def chunks_in(messages: Sequence[Object]) -> int:
    updates = [
        json_at(m, "params", "update") for m in messages if m.get("method") == "session/update"
    ]
    return sum(json_at(update, "sessionUpdate") == "agent_message_chunk" for update in updates)


async def test_a_turn_is_suspended_while_the_client_does_not_read() -> None:
    model = EndlessModel()
    async with open_editor(model, capacity_bytes=CAPACITY_BYTES) as editor:
        await editor.initialize()
        await start_endless_turn(editor)
        assert 0 < model.chunk_count <= CAPACITY_BYTES / len(TEXT)
        chunk_count = model.chunk_count
        await settle()
        assert model.chunk_count == chunk_count


async def test_a_suspended_turn_is_cancelled_at_once_and_its_response_follows() -> None:
    async with open_editor(EndlessModel(), capacity_bytes=CAPACITY_BYTES) as editor:
        await editor.initialize()
        session_id = await start_endless_turn(editor)
        before = len(editor.messages)
        editor.cancel(session_id)
        await settle()
        editor.resume_reading()
        answer = await editor.wait_for_response(lambda message: message.get("id") == 3)
        assert answer["result"] == CANCELLED
        received = editor.messages[before:]
        assert chunks_in(received) <= CAPACITY_BYTES / len(TEXT)
        assert received[-1] == answer


async def test_requests_of_other_sessions_are_served_while_a_turn_is_suspended() -> None:
    async with open_editor(EndlessModel(), capacity_bytes=CAPACITY_BYTES) as editor:
        await editor.initialize()
        other = await editor.new_session()
        talking = await start_endless_turn(editor)
        before = len(editor.messages)
        modes = [editor.start_request("session/set_mode", {"sessionId": other, "modeId": "plan"})]
        modes += [
            editor.start_request("session/set_mode", {"sessionId": talking, "modeId": "plan"})
        ]
        created = editor.start_request("session/new", {"cwd": "/", "mcpServers": []})
        closed = editor.start_request("session/close", {"sessionId": other})
        await settle()
        editor.cancel(talking)
        editor.resume_reading()
        for pending in (*modes, created, closed):
            assert "result" in await pending.response()
        await editor.wait_for_response(lambda message: message.get("result") == CANCELLED)
        assert chunks_in(editor.messages[before:]) <= CAPACITY_BYTES / len(TEXT) + 1


async def test_a_turn_resumed_after_a_pause_loses_and_repeats_nothing(
    tmp_path: Path,
) -> None:
    numbers = " ".join(str(number) for number in range(2000))
    configuration = make_configuration(tmp_path, f"prompt: *\nsay: {numbers}")
    async with open_editor(configuration, capacity_bytes=CAPACITY_BYTES) as editor:
        await editor.initialize()
        session_id = await start_endless_turn(editor)
        editor.resume_reading()
        await editor.wait_for_response(lambda message: message.get("id") == 3)
        assert editor.agent_text(session_id) == numbers


async def test_two_suspended_turns_resume_together(tmp_path: Path) -> None:
    configuration = make_configuration(
        tmp_path, f"prompt: ready\nsay: yes\n\nprompt: *\nchunks: 200 {TEXT}"
    )
    async with open_editor(configuration, capacity_bytes=CAPACITY_BYTES) as editor:
        await editor.initialize()
        sessions = [await editor.new_session() for _ in range(2)]
        for session_id in sessions:  # each has read its script, so that both begin at once
            await editor.prompt(session_id, "ready")
        editor.stop_reading()
        turns = [editor.start_prompt(session_id, "talk") for session_id in sessions]
        while editor.server_end.has_capacity:
            await lowlevel.checkpoint()
        editor.resume_reading()
        for turn in turns:
            assert (await turn.response())["result"] == {"stopReason": "end_turn"}
        order = [update["sessionId"] for update in editor.updates[-400:]]
        assert sorted(map(str, order)) == sorted(sessions * 200)
        halfway = order[: len(order) // 2]
        assert min(halfway.count(session_id) for session_id in sessions) > 50


def read_slowly(server: ServerProcess, seconds: float) -> tuple[bytes, int]:
    """Read 1 KiB a second; return what was read, and the most memory that the server had."""
    read, most_bytes = b"", 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        read += server.read_some(102)
        most_bytes = max(most_bytes, server.memory_bytes())
        time.sleep(0.1)
    return read, most_bytes


@pytest.mark.parametrize("seconds", [1, pytest.param(30, marks=pytest.mark.full)])
def test_a_real_server_neither_grows_nor_spins_with_a_slow_reader(
    tmp_path: Path, seconds: float
) -> None:
    with start_server(tmp_path, CHUNKS.format(count=20_000)) as server:
        server.initialize()
        session_id = server.new_session()
        server.receive_update()
        server.prompt(session_id, "/context")  # which needs all that is imported late
        before_bytes = server.memory_bytes()
        request_id = server.start_prompt(session_id)
        server.wait_until_write_blocked()
        busy_before = processor_seconds(server)
        read, most_bytes = read_slowly(server, seconds)
        assert most_bytes < before_bytes + 5 * MIB
        assert processor_seconds(server) - busy_before < 0.1 * seconds
        server.send(
            {"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session_id}}
        )
        server.wait_until_input_read()
        while line := server.read_line():
            read += line
            if b'"result"' in line:
                break
        answer = json.loads(read.splitlines()[-1])
        take_checkpoint(answer)
        assert (answer["id"], answer["result"]) == (request_id, CANCELLED)
        assert len(read) < MIB
        assert server.new_session().startswith("sess_")
        server.close_stdin()
        assert (server.wait(), server.stderr()) == (0, "")


def processor_seconds(server: ServerProcess) -> float:
    times = psutil.Process(server.process.pid).cpu_times()
    return times.user + times.system


@pytest.mark.parametrize("count", [2_000, pytest.param(20_000, marks=pytest.mark.full)])
def test_a_real_server_with_a_fast_reader_sends_everything(tmp_path: Path, count: int) -> None:
    with start_server(tmp_path, CHUNKS.format(count=count)) as server:
        server.initialize()
        session_id = server.new_session()
        assert server.prompt(session_id)["result"] == {"stopReason": "end_turn"}
        assert server.agent_text() == count * TEXT
