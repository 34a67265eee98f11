"""Commands shown live, in editors that draw a terminal from the output they are sent."""

import json
from pathlib import Path

import anyio
import pytest

from acp_server.tools.shell import terminal
from acp_server.turn.conversation import ToolCall
from tests.support.case_table import named_case
from tests.support.editor import Object
from tests.tools.editor_session import CallUpdates
from tests.tools.terminal.terminal_session import (
    LIVE_OUTPUT,
    meta_values,
    open_terminal_sessions,
    printed_output,
    run,
)

SPEED = 5
"""How much more often than for a user output is shown."""


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = terminal.TERMINAL_FLUSH_SECONDS / SPEED
    monkeypatch.setattr(terminal, "TERMINAL_FLUSH_SECONDS", seconds)


PRINTED = {
    "plain lines": ("printf 'one\\ntwo\\n'", "one\ntwo\n"),
    "no newline at the end": ("printf one", "one"),
    "stdout and stderr in order": ("echo one; echo two >&2; echo three", "one\ntwo\nthree\n"),
    "half a character at a time": (
        "printf 'a\\342'; sleep 0.05; printf '\\202'; sleep 0.05; printf '\\254b'",
        "a€b",
    ),
    "a character that never ends": ("printf 'a\\342\\202'", "a\ufffd"),
    "a progress bar": (
        "for n in 1 2 3; do printf '\\r%s0%%' $n; sleep 0.03; done; printf '\\n'",
        "\r10%\r20%\r30%\n",
    ),
    "colours": ("printf '\\033[31mred\\033[0m'", "\033[31mred\033[0m"),
}


def opened(tool_call: ToolCall, title: str, terminal_id: str, cwd: Path) -> list[Object]:
    """What is told when a command begins."""
    return [
        {
            "sessionUpdate": "tool_call",
            "toolCallId": tool_call.id,
            "title": title,
            "kind": "execute",
            "status": "in_progress",
            "content": [{"type": "terminal", "terminalId": terminal_id}],
            "_meta": {"terminal_info": {"terminal_id": terminal_id, "cwd": str(cwd)}},
        },
        {"sessionUpdate": "tool_call_update", "toolCallId": tool_call.id, "title": title},
    ]


def terminal_of(updates: CallUpdates) -> str:
    (info,) = meta_values(updates, "terminal_info")
    return str(info["terminal_id"])


async def test_a_command_is_shown_as_a_terminal_from_start_to_exit(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        tool_call = run("printf 'one\\n'; exit 3")
        updates = await session.run_one(tool_call)
        terminal_id = terminal_of(updates)
        start = next(n for n, each in enumerate(updates.updates) if "terminal_info" in str(each))
        update = {"sessionUpdate": "tool_call_update", "toolCallId": tool_call.id}
        exit_ = {"terminal_id": terminal_id, "exit_code": 3, "signal": None}
        assert updates.updates[start:] == [
            *opened(tool_call, "`printf 'one\\n'; exit 3`", terminal_id, session.root),
            {
                **update,
                "_meta": {"terminal_output": {"terminal_id": terminal_id, "data": "one\n"}},
            },
            {**update, "_meta": {"terminal_exit": exit_}},
            {
                **update,
                "status": "failed",
                "content": [{"type": "terminal", "terminalId": terminal_id}],
                "rawOutput": {
                    "text": "one\n[exit code 3]",
                    "exit_code": 3,
                    "signal": None,
                    "timed_out": False,
                },
            },
        ]
        assert updates.text == "one\n[exit code 3]"


async def test_the_chunks_add_up_to_the_output(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        for name, (command, output) in PRINTED.items():
            with named_case(name):
                updates = await session.run_one(run(command))
                assert printed_output(updates) == output
                assert all(piece["data"] for piece in meta_values(updates, "terminal_output"))
                assert updates.status == "completed"


async def test_a_command_without_output_is_an_empty_terminal(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        updates = await session.run_one(run("true"))
        assert meta_values(updates, "terminal_output") == []
        exit_ = {"terminal_id": terminal_of(updates), "exit_code": 0, "signal": None}
        assert meta_values(updates, "terminal_exit") == [exit_]
        assert (updates.status, updates.text) == ("completed", "(no output)")


async def test_output_is_shown_while_the_command_runs(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        tool_call = run("echo up; until [ -e go ]; do sleep 0.01; done")
        pending = session.start(tool_call)
        await session.wait_until_shown(tool_call, "up")
        assert not pending.is_answered
        session.write_file("go", "")
        await pending.response()


async def test_the_signal_that_ended_a_command_is_reported(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        updates = await session.run_one(run("kill -KILL $$"))
        exit_ = {"terminal_id": terminal_of(updates), "exit_code": None, "signal": "SIGKILL"}
        assert meta_values(updates, "terminal_exit") == [exit_]
        assert (updates.status, updates.text) == ("failed", "[ended by SIGKILL]")


LINE = "a line of output like any other, 56 bytes with newline\n"
PACES = {
    "at once": f"yes '{LINE.strip()}' | head -n 5000",
    "slowly": f"for n in 1 2 3 4 5 6 7 8 9 10; do yes '{LINE.strip()}' | head -n 500;"
    " sleep 0.02; done",
}


@pytest.mark.parametrize("command", PACES.values(), ids=PACES.keys())
async def test_280_kb_of_output_cost_little_more_than_their_size(
    tmp_path: Path, command: str
) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        updates = await session.run_one(run(command))
        output = 5000 * LINE
        assert printed_output(updates) == output
        assert session.wire_bytes(updates) < 1.1 * len(output)


async def test_excessive_output_is_shown_with_its_head_and_tail(tmp_path: Path) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        updates = await session.run_one(run("echo first; yes | head -c 1500000; echo last"))
        shown = printed_output(updates)
        assert shown.startswith("first\ny\n")
        assert shown.endswith("y\nlast\n")
        assert "too long to show in full" in shown
        assert session.wire_bytes(updates) < 1_200_000
        assert updates.text.startswith("first\ny\n")
        assert updates.text.endswith("y\nlast")
        assert len(updates.text) < 31_000


@pytest.mark.parametrize(
    "unit",
    [
        pytest.param("\\303\\244", id="umlauts", marks=pytest.mark.full),
        pytest.param("\\360\\237\\231\\202", id="emoji"),
        pytest.param("\\377", id="garbage"),
    ],
)
async def test_excessive_output_of_multibyte_characters_costs_no_more(
    tmp_path: Path, unit: str
) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        updates = await session.run_one(run(f"yes \"$(printf '{unit}')\" | head -c 1500000"))
        assert session.wire_bytes(updates) < 1_200_000


async def test_a_slow_reader_loses_no_output_when_a_command_ends(
    tmp_path: Path,
) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        numbers = "".join(f"{number}\n" for number in range(1, 100_001))
        pending = session.start(
            run(
                "echo up; until [ -e go ]; do sleep 0.01; done; seq 100000; sleep 0.06; echo more; "
                "sleep 0.06; touch done"
            )
        )
        await session.editor.wait_for_response(lambda message: "up" in str(message.get("params")))
        session.editor.stop_reading()
        session.write_file("go", "")
        await session.wait_until_exists("done")
        await anyio.sleep(0.2)  # for the server to notice, which shows nowhere
        session.editor.resume_reading()
        await pending.response()
        (made,) = session.model.results
        assert printed_output(session.updates_of(made.call_id)) == f"up\n{numbers}more\n"


@pytest.mark.parametrize(
    "command",
    [
        "echo so far; sleep 60",
        "trap '' TERM; echo so far; while :; do sleep 0.05; done",
    ],
    ids=["one that ends when asked", "one that ignores being asked"],
)
async def test_a_cancelled_command_reports_its_exit_before_its_call_fails(
    tmp_path: Path, command: str
) -> None:
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        tool_call = run(command)
        pending = session.start(tool_call)
        await session.wait_until_shown(tool_call, "so far")
        await session.cancel(pending)
        call_updates = session.updates_of(tool_call.id)
        assert printed_output(call_updates) == "so far\n"
        *_, exit_, last = call_updates.updates
        assert "terminal_exit" in json.dumps(exit_)
        assert last["status"] == "failed"
        assert last["content"] == [{"type": "terminal", "terminalId": terminal_of(call_updates)}]
        assert "It had printed:\nso far" in session.pending_result(tool_call)
        assert await session.editor.prompt(session.session_id, "/version")
