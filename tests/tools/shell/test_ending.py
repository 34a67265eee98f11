from pathlib import Path

import anyio
import pytest
from anyio import lowlevel

from acp_server.session.ports.editor import TerminalExit
from acp_server.tools.shell.process_groups import GRACE_SECONDS
from acp_server.tools.shell.session import CommandResult
from tests.tools.shell.command_session import (
    CommandOutcome,
    open_command_session,
    running_commands,
    wait_until,
    wait_until_running,
)

TREE = "(sleep 61 & sleep 62 & wait) & setsid sleep 63 & nohup sleep 64 >/dev/null & sleep 65"
SOON_SECONDS = 20.0
"""What the commands take by themselves is three times as long."""
MOST_ROUNDS = 10
STUBBORN = "trap '' TERM; setsid sleep 66 & sleep 67 & echo ready; while :; do sleep 68; done"


@pytest.mark.parametrize(
    ("command", "signal"),
    [
        pytest.param(f"echo ready; {TREE}", "SIGTERM", id="a tree"),
        pytest.param(STUBBORN, "SIGKILL", id="that ignores TERM"),
    ],
)
async def test_a_timeout_kills_the_whole_process_tree(
    tmp_path: Path, command: str, signal: str
) -> None:
    async with open_command_session(tmp_path) as session:
        with anyio.fail_after(SOON_SECONDS):
            outcome = await session.run(command, 0.3)
        assert outcome == CommandOutcome(
            CommandResult(TerminalExit(signal=signal), timed_out=True), "ready\n"
        )
        assert running_commands(session.token) == []


async def test_final_output_after_the_timeout_is_captured(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        outcome = await session.run("trap 'echo bye; exit 5' TERM; while :; do :; done", 0.2)
    assert outcome == CommandOutcome(CommandResult(TerminalExit(code=5), timed_out=True), "bye\n")


async def test_a_command_is_cancelled_in_the_middle_of_its_output(tmp_path: Path) -> None:
    is_printing = anyio.Event()
    cancelled = 0.0

    def take(chunk: bytes) -> None:
        assert chunk
        is_printing.set()

    async with open_command_session(tmp_path) as session:
        async with anyio.create_task_group() as tasks:
            command = f"{TREE} & {STUBBORN} & yes"
            tasks.start_soon(session.session.run, command, tmp_path, take, None)
            await is_printing.wait()
            cancelled = anyio.current_time()
            tasks.cancel_scope.cancel()
        assert anyio.current_time() - cancelled < SOON_SECONDS
        assert running_commands(session.token) == []


async def test_the_event_loop_is_not_blocked_while_a_command_is_killed(tmp_path: Path) -> None:
    longest = 0.0

    async def measure() -> None:
        nonlocal longest
        while True:
            before = anyio.current_time()
            await lowlevel.checkpoint()
            longest = max(longest, anyio.current_time() - before)

    shortest = GRACE_SECONDS
    async with open_command_session(tmp_path) as session:
        for _ in range(MOST_ROUNDS):  # a loaded machine may stop the test for as long, but rarely
            longest = 0.0
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(measure)
                await session.run(STUBBORN, 0.1)
                tasks.cancel_scope.cancel()
            shortest = min(shortest, longest)
            if shortest < GRACE_SECONDS:
                break
    assert shortest < GRACE_SECONDS


async def test_leftover_processes_are_not_awaited_and_continue(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        with anyio.fail_after(SOON_SECONDS):
            # Late by a gate and not by a time: a loaded machine may take any time to end the call.
            late = "(until [ -e go ]; do sleep 0.05; done; echo late; touch late; sleep 60)"
            outcome = await session.run(f"{late} & echo now")
        assert outcome == CommandOutcome(
            CommandResult(TerminalExit(code=0), timed_out=False), "now\n"
        )
        assert len(session.watcher.groups(session.watcher.mark)) == 1
        (tmp_path / "go").touch()
        await wait_until((tmp_path / "late").exists)
        await wait_until_running(session.token, "sleep 60")


async def test_leftover_processes_end_only_with_their_own_session(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session, open_command_session(tmp_path) as other:
        await session.run(f"({TREE}) >/dev/null 2>&1 &")
        await session.run("yes &")
        await other.run("sleep 60 >/dev/null 2>&1 &")
        await wait_until(lambda: len(running_commands(session.token)) == 8)
        with anyio.fail_after(SOON_SECONDS):
            await session.session.terminate_leftovers()
            await session.session.terminate_leftovers()
        assert running_commands(session.token) == []
        await wait_until_running(other.token, "sleep 60")


async def test_reading_output_of_an_endless_leftover_stops_soon(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        with anyio.fail_after(SOON_SECONDS):
            outcome = await session.run("yes & (while :; do echo; sleep 0.01; done) & echo")
    assert outcome.ended == CommandResult(TerminalExit(code=0), timed_out=False)
    assert len(outcome.output) < 40_000_000  # most of it before the end could be noticed
