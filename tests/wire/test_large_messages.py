"""Long lines take time in proportion to their length; above the cap there is a clear error."""

import json
from pathlib import Path

import psutil
import pytest
from pydantic import JsonValue

from tests.support.case_table import named_case
from tests.support.editor import Object, make_configuration, open_editor, prompt_params
from tests.support.server_process import HELLO_SCRIPT, ServerProcess, start_server
from tests.support.user_texts import MESSAGE_LONGER_THAN

MIB = 1024 * 1024
CAP_MIB = 64


def prompt_line(request_id: JsonValue, session_id: str, text: str) -> bytes:
    params = prompt_params(session_id, text)
    message: JsonValue = {"jsonrpc": "2.0", "id": request_id, "method": "session/prompt"}
    return json.dumps({**message, "params": params}).encode() + b"\n"


def cpu_seconds(server: ServerProcess) -> float:
    times = psutil.Process(server.process.pid).cpu_times()
    return times.user + times.system


def too_large(request_id: JsonValue) -> Object:
    reason = f"{MESSAGE_LONGER_THAN} {CAP_MIB * MIB} bytes; send a smaller message"
    error: JsonValue = {
        "code": -32600,
        "message": f"Message too large: {reason}",
        "data": {"details": reason},
    }
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


def cpu_seconds_for(
    server: ServerProcess, session_id: str, size_mib: int, rounds: int = 2
) -> float:
    """The best of some rounds."""
    times: list[float] = []
    for number in range(rounds):
        name = f"{size_mib} MiB, {number}"
        line = prompt_line(name, session_id, "x" * (size_mib * MIB))
        before_seconds = cpu_seconds(server)
        server.send_bytes(line)
        answer = server.receive_response(name)
        times.append(cpu_seconds(server) - before_seconds)
        assert answer["result"] == {"stopReason": "end_turn"}
    return min(times)


@pytest.mark.parametrize("size_mib", [2, pytest.param(50, marks=pytest.mark.full)])
def test_prompts_of_many_mebibytes_take_proportional_time(tmp_path: Path, size_mib: int) -> None:
    with start_server(tmp_path) as server:
        server.initialize()
        session_id = server.new_session()
        per_mebibyte = max(cpu_seconds_for(server, session_id, 1), 0.03)
        assert cpu_seconds_for(server, session_id, size_mib) / size_mib < 8 * per_mebibyte


def test_a_prompt_of_escaped_surrogate_pairs_takes_proportional_time(
    tmp_path: Path,
) -> None:
    with start_server(tmp_path) as server:
        server.initialize()
        session_id = server.new_session()
        before_seconds = cpu_seconds(server)
        server.send_bytes(prompt_line("emoji", session_id, "😀" * (5 * MIB // 12)))
        assert server.receive_response("emoji")["result"] == {"stopReason": "end_turn"}
        assert cpu_seconds(server) - before_seconds < 2.5


def test_lines_above_the_limit_are_rejected_one_by_one_and_the_next_works(tmp_path: Path) -> None:
    with start_server(tmp_path) as server:
        with named_case("the first line"):
            server.send_bytes(b"[" * (CAP_MIB * MIB + 1) + b"\n")
            assert server.receive() == too_large(None)
            server.initialize()
            assert server.prompt(server.new_session())["result"] == {"stopReason": "end_turn"}
        with named_case("a request"):
            require_rejection(server, "big")
        with named_case("a response, which is not answered"):
            server.messages.clear()
            server.send_bytes(b'{"jsonrpc":"2.0","id":1,"result":{"content":"')
            server.send_bytes(b"x" * (CAP_MIB * MIB) + b'"}}\n')
            assert server.new_session().startswith("sess_")
            assert len([each for each in server.messages if "method" not in each]) == 1
        with named_case("200 MiB without a newline use no more memory than the limit"):
            server.send_bytes(b'{"jsonrpc":"2.0","id":1,"method":"')
            most_bytes = 0
            for _ in range(200):
                server.send_bytes(b"x" * MIB)
                most_bytes = max(most_bytes, server.memory_bytes())
            assert server.receive_response(1) == too_large(1)
            assert most_bytes < 250 * MIB
        server.close_stdin()
        assert server.wait() == 0


@pytest.mark.full
def test_a_request_above_the_limit_is_rejected_with_its_number(tmp_path: Path) -> None:
    with start_server(tmp_path) as server:
        server.initialize()
        require_rejection(server, 7)
        server.close_stdin()
        assert server.wait() == 0


def require_rejection(server: ServerProcess, request_id: JsonValue) -> None:
    """Send a request above the limit; it is rejected with its id, and the next one works."""
    session_id = server.new_session()
    server.send_bytes(prompt_line(request_id, session_id, "x" * (CAP_MIB * MIB)))
    assert server.receive_response(request_id) == too_large(request_id)
    assert server.prompt(session_id)["result"] == {"stopReason": "end_turn"}


@pytest.mark.parametrize("missing", [0, 1])
async def test_the_limit_applies_to_the_whole_line_only(tmp_path: Path, missing: int) -> None:
    async with open_editor(
        make_configuration(tmp_path, HELLO_SCRIPT), limit_bytes=10_000
    ) as editor:
        await editor.initialize()
        session_id = await editor.new_session()
        frame = len(prompt_line("exact", session_id, "")) - 1
        text = "x" * (10_000 - frame + 1 - missing)
        editor.send_line(prompt_line("exact", session_id, text).strip())
        answer = await editor.wait_for_response(lambda message: message.get("id") == "exact")
        assert ("result" in answer) == bool(missing)
