"""Commands shown as text, in editors that can show nothing better."""

import json
from pathlib import Path
from typing import cast

import anyio
import pytest
from pydantic import JsonValue

from acp_server.tools.shell import terminal
from tests.support.editor import Object, json_at
from tests.tools.editor_session import CallUpdates
from tests.tools.terminal.terminal_session import (
    PLAIN,
    TerminalSession,
    open_terminal_sessions,
    run,
)

SPEED = 5
"""How much more often than for a user output is shown, where it takes no user's time."""
LINE = "a line of output like any other, 56 bytes with newline\n"
PACES = {
    "at once": f"yes '{LINE.strip()}' | head -n 5000",
    "slowly": f"for n in $(seq 10); do yes '{LINE.strip()}' | head -n 500; sleep 0.02; done",
}


@pytest.fixture
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "TEXT_FLUSH_SECONDS", terminal.TEXT_FLUSH_SECONDS / SPEED)


often = pytest.mark.usefixtures(_often.__name__)


def texts(updates: CallUpdates) -> list[str]:
    """Return every state of the text that was shown."""
    contents = [
        cast("list[JsonValue]", each["content"]) for each in updates.updates if "content" in each
    ]
    return [
        "\n".join(str(json_at(block, "content", "text")) for block in each) for each in contents
    ]


async def test_the_final_update_has_the_output_and_the_exit_status(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        tool_call = run("echo one; exit 3")
        call_updates = await session.run_one(tool_call)
        assert call_updates.updates[-1] == {
            "sessionUpdate": "tool_call_update",
            "toolCallId": tool_call.id,
            "status": "failed",
            "content": [
                {"type": "content", "content": {"type": "text", "text": "```\none\n```"}},
                {"type": "content", "content": {"type": "text", "text": "[exit code 3]"}},
            ],
            "rawOutput": {
                "text": "one\n[exit code 3]",
                "exit_code": 3,
                "signal": None,
                "timed_out": False,
            },
        }
        assert [each for each in call_updates.updates if "_meta" in each] == []


@often
@pytest.mark.parametrize("command", PACES.values(), ids=PACES.keys())
async def test_280_kb_of_output_cost_a_few_updates_of_8_kb(tmp_path: Path, command: str) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        updates = await session.run_one(run(command))
        assert all(len(text) < 8_100 for text in texts(updates))
        assert texts(updates)[-1].endswith(f"{LINE}```")
        assert session.wire_bytes(updates) < 100_000


@often
async def test_continuous_output_costs_four_updates_a_second(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        begin = anyio.current_time()
        updates = await session.run_one(run("timeout 0.1 yes | head -c 1000000000; echo last"))
        seconds = anyio.current_time() - begin
        assert len(texts(updates)) <= 4 * SPEED * seconds + 2
        assert texts(updates)[-1].endswith("y\nlast\n```")
        assert updates.text.endswith("y\nlast")


async def test_updates_are_a_quarter_of_a_second_apart(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        tool_call = run("for n in $(seq 8); do echo $n; sleep 0.1; done")
        pending = session.start(tool_call)
        times = list[float]()
        while not pending.is_answered:
            count = len(texts(session.updates_of(tool_call.id)))
            if count > len(times):
                times.append(anyio.current_time())
            await anyio.sleep(0.001)  # when something came is the subject
        *passing, _ = times
        assert len(passing) >= 3
        late = 0.2  # one of them may have been noticed late
        assert passing[-1] - passing[0] > 0.24 * (len(passing) - 1) - late


@often
async def test_a_little_output_after_a_lot_does_not_resend_it_often(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        updates = await session.run_one(
            run("seq 4000; for n in $(seq 30); do printf .; sleep 0.01; done", timeout=30)
        )
        assert session.wire_bytes(updates) < 4 * 20_000 + 80_000


async def test_text_that_looks_like_a_closing_fence_does_not_end_the_block(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        updates = await session.run_one(run("printf '```\\nno\\n'"))
        assert texts(updates)[-1] == "````\n```\nno\n````"


@often
async def test_a_blocked_reader_gets_only_the_newest_update(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        tool_call = run("for n in 1 2 3 4 5; do echo state $n; sleep 0.06; done; mkdir done")
        pending = session.start(tool_call)
        await _in_progress(session, tool_call.id)
        session.editor.stop_reading()
        await session.wait_until_exists("done")
        session.editor.resume_reading()
        await pending.response()
        assert len(texts(session.updates_of(tool_call.id))) <= 3


async def _in_progress(session: TerminalSession, call_id: str) -> None:
    def is_it(message: Object) -> bool:
        text = json.dumps(message)
        return call_id in text and "in_progress" in text

    await session.editor.wait_for_response(is_it)


async def test_a_cancelled_command_shows_its_output_so_far(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, PLAIN) as session:
        tool_call = run("echo so far; sleep 60")
        pending = session.start(tool_call)
        await session.wait_until_shown(tool_call, "so far")
        await session.cancel(pending)
        assert texts(session.updates_of(tool_call.id))[-1].startswith("```\nso far\n```\n")
        assert "It had printed:\nso far" in session.pending_result(tool_call)
