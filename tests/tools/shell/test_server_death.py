"""The death of a server that has no time for anything: nothing that it started survives."""

import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import anyio
import pytest
from anyio.abc import Process
from anyio.streams.buffered import BufferedByteReceiveStream

from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.shell.command_session import (
    new_token,
    server_environment,
    wait_until_running,
)

SERVER = Path(__file__).with_name("server.py")
ROOT = Path(__file__).parents[3]
START_SECONDS = 0.04
COMMANDS = {
    "a group": "(sleep 60 & sleep 60 & wait) & echo up; sleep 60",
    "nohup": "nohup sleep 60 >/dev/null 2>&1 & echo up; wait",
    "setsid": "setsid sleep 60 & echo up; wait",
    "one that ignores TERM": "trap '' TERM; setsid sleep 60 & echo up; while :; do sleep 60; done",
    "what an ended command left": "setsid sleep 60 >/dev/null 2>&1 & sleep 60 & echo up",
    "one without our variables": "echo up; exec env -i sh -c 'sleep 60; : TOKEN'",
}


@asynccontextmanager
async def server(
    folder: Path, token: str, *commands: str
) -> AsyncGenerator[tuple[Process, BufferedByteReceiveStream]]:
    """Start a server that is about to run commands."""
    its_commands = [command.replace("TOKEN", token) for command in commands]
    environment = server_environment(token, folder) | {"PYTHONPATH": str(ROOT)}
    process = await anyio.open_process(
        [sys.executable, str(SERVER), str(folder), *its_commands], env=environment, stderr=None
    )
    async with process:
        assert process.stdout
        lines = BufferedByteReceiveStream(process.stdout)
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            try:
                assert await lines.receive_until(b"\n", 100) == b"ready"
                yield process, lines
            finally:
                with suppress(ProcessLookupError):
                    process.kill()


async def test_no_process_survives_the_server(tmp_path: Path) -> None:
    token = new_token()
    async with server(tmp_path, token, *COMMANDS.values()) as (process, lines):
        for _ in COMMANDS:
            await lines.receive_until(b"up\n", 1000)
        process.send_signal(signal.SIGKILL)
        await wait_until_running(token)


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.full)])
async def test_no_process_survives_a_kill_at_any_moment_of_the_start(
    tmp_path: Path, kills: int
) -> None:
    commands = [f"sleep 0.0{n}; touch {n}; {c}" for n, c in enumerate(COMMANDS.values())]

    async def kill_after(delay_seconds: float) -> None:
        token = new_token()
        async with server(tmp_path, token, *commands) as (process, _):
            await anyio.sleep(delay_seconds)
            process.send_signal(signal.SIGKILL)
            await wait_until_running(token)

    async def kill_from(first: int) -> None:
        for step in range(first, kills, 4):
            await kill_after(START_SECONDS * step / kills)

    async with anyio.create_task_group() as tasks:
        for first in range(4):
            tasks.start_soon(kill_from, first)
