"""The network that the confined commands of one session share, and who else can reach it."""

import errno
import os
import shlex
import signal
import socket
import sys
import time
from pathlib import Path

import anyio
import psutil
import pytest
from anyio import to_thread

from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    make_sandbox,
    needs_sandbox,
    open_confined,
    working_launcher,
)
from tests.tools.shell.command_session import CommandSession, wait_until

pytestmark = needs_sandbox
SERVE = (
    "import pathlib, socket; s = socket.create_server(('127.0.0.1', 0));"
    "pathlib.Path('port').write_text(str(s.getsockname()[1]));\n"
    "while True: s.accept()[0].sendall(b'hello')"
)
CONNECT = "import socket, sys; print(socket.create_connection(('127.0.0.1', {port}), 5).recv(9))"
SESSION = """
import sys, anyio
from pathlib import Path
from tests.tools.confinement.sandbox_setup import create_directories, open_confined

async def main():
    async with open_confined(create_directories(Path(sys.argv[1]))) as session:
        await session.run("true")
        print("up", flush=True)
        await session.run("sleep 60")

anyio.run(main)
"""


@pytest.fixture
async def directories(tmp_path: Path) -> SandboxDirectories:
    sandbox = make_sandbox(found := create_directories(tmp_path))
    namespaces = await sandbox.network.namespaces.files(working_launcher())
    await sandbox.close()
    if not namespaces:
        pytest.skip("there are no namespaces to be had on this machine")
    return found


async def start_server(session: CommandSession) -> int:
    """Start a server in the background of one command; return its port."""
    serve = f"{sys.executable} -S -c {shlex.quote(SERVE)}"
    await session.run(f"{serve} > /dev/null 2>&1 & until [ -s port ]; do sleep 0.01; done")
    return int((session.folder / "port").read_text())


async def connect(session: CommandSession, port: int) -> str:
    code = shlex.quote(CONNECT.format(port=port))
    return (await session.run(f"{sys.executable} -S -c {code} 2>&1")).output


async def test_a_server_of_one_command_is_reachable_by_the_next(
    directories: SandboxDirectories,
) -> None:
    async with open_confined(directories) as session:
        port = await start_server(session)
        assert await connect(session, port) == "b'hello'\n"


async def test_it_is_not_reachable_from_this_machine_or_another_session(
    directories: SandboxDirectories,
) -> None:
    async with open_confined(directories) as session, open_confined(directories) as other:
        port = await start_server(session)
        assert "ConnectionRefusedError" in await connect(other, port)
        with socket.socket() as outside:
            assert outside.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED


async def test_concurrent_first_commands_share_the_network(
    directories: SandboxDirectories,
) -> None:
    found: list[str] = []

    async def look(session: CommandSession) -> None:
        found.append((await session.run("readlink /proc/self/ns/net")).output)

    async with open_confined(directories) as session, anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(look, session)
    assert len(found) == 4
    assert len(set(found)) == 1


async def test_the_network_outlives_its_holder(directories: SandboxDirectories) -> None:
    sandbox = make_sandbox(directories)
    async with open_confined(directories, sandbox=sandbox) as session:
        port = await start_server(session)
        (holder,) = holders(os.getpid())
        holder.kill()
        await wait_until(lambda: not holders(os.getpid()))
        assert await connect(session, port) == "b'hello'\n"
        with await sandbox.network.namespaces.open_socket(working_launcher()) as inside:
            inside.settimeout(HANG_TIMEOUT_SECONDS)
            await to_thread.run_sync(inside.connect, ("127.0.0.1", port))
            assert inside.recv(9) == b"hello"
    assert holders(os.getpid()) == []


async def test_a_holder_that_has_just_died_is_replaced(directories: SandboxDirectories) -> None:
    sandbox = make_sandbox(directories)
    async with open_confined(directories, sandbox=sandbox) as session:
        port = await start_server(session)
        (holder,) = holders(os.getpid())
        holder.kill()
        while is_running(holder):  # blocks the event loop, so the server does not learn of it yet
            time.sleep(0.001)  # noqa: ASYNC251
        assert await sandbox.network.namespaces.files(working_launcher()) != ()
        assert await connect(session, port) == "b'hello'\n"


async def test_no_holder_survives_the_server(directories: SandboxDirectories) -> None:
    argv = [sys.executable, "-c", SESSION, str(directories.base / "other")]
    (directories.base / "other").mkdir()
    async with await anyio.open_process(argv, cwd=Path(__file__).parents[3]) as server:
        assert server.stdout is not None
        assert (await server.stdout.receive()).startswith(b"up")
        (holder,) = holders(server.pid)
        server.send_signal(signal.SIGKILL)
        await wait_until(lambda: not is_running(holder))


def holders(server: int) -> list[psutil.Process]:
    children = psutil.Process(server).children()
    return [each for each in children if is_running(each) and "hold=sockets" in each.cmdline()]


def is_running(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
