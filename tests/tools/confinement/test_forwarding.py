"""Servers of confined commands that this machine reaches once the user has agreed."""

import errno
import shlex
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from acp_server.permissions.network_access import PortAccess
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.shell.port_commands import NO_PORTS, USAGE, PortCommands
from tests.support.editor import json_at
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.confinement.sandbox_setup import (
    SandboxDirectories,
    create_directories,
    make_sandbox,
    needs_sandbox,
    open_confined,
    working_launcher,
)
from tests.tools.editor_session import Answer, allow
from tests.tools.shell.command_session import CommandSession, wait_until
from tests.tools.terminal.terminal_session import LIVE_OUTPUT, open_terminal_sessions, process, run

pytestmark = needs_sandbox
SERVE = (
    "import pathlib, socket; s = socket.create_server(('{address}', {port}), family={family});"
    "pathlib.Path('port').write_text(str(s.getsockname()[1]));\n"
    "while True:\n"
    "  with s.accept()[0] as client: client.sendall(b'hello ' + client.recv(9))"
)
IP4, IP6 = ("127.0.0.1", "socket.AF_INET"), ("::1", "socket.AF_INET6")
ASKS = "session/request_permission"


@dataclass(frozen=True, slots=True)
class ServingSession:
    """A session whose ports can be forwarded."""

    shell: CommandSession
    sandbox: SessionSandbox
    commands: PortCommands

    async def serve(self, place: tuple[str, str] = IP4, port: int = 0) -> int:
        """Start a server in the background of one command; return its port."""
        await self.shell.run(serve_command(place, port))
        return int((self.shell.folder / "port").read_text())


def serve_command(place: tuple[str, str] = IP4, port: int = 0) -> str:
    code = SERVE.format(address=place[0], family=place[1], port=port)
    serve = f"{sys.executable} -S -c {shlex.quote(code)}"
    return f"{serve} > /dev/null 2>&1 & until [ -s port ]; do sleep 0.01; done"


@asynccontextmanager
async def open_session(folder: Path) -> AsyncGenerator[ServingSession]:
    directories: SandboxDirectories = create_directories(folder)
    async with anyio.create_task_group() as tasks:
        sandbox = make_sandbox(directories, tasks=tasks)
        if not await sandbox.network.namespaces.files(working_launcher()):
            pytest.skip("there are no namespaces to be had on this machine")
        async with open_confined(directories, sandbox=sandbox) as shell:
            yield ServingSession(shell, sandbox, PortCommands(sandbox))
        tasks.cancel_scope.cancel()


def greet(port: int) -> bytes:
    """Return the answer of the server that this machine has at a port."""
    with socket.create_connection(("127.0.0.1", port), HANG_TIMEOUT_SECONDS) as client:
        client.sendall(b"you")
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(99), b""))


@pytest.mark.parametrize("place", [IP4, IP6], ids=["IPv4", "IPv6"])
async def test_this_machine_reaches_a_forwarded_port_until_it_is_stopped(
    tmp_path: Path, place: tuple[str, str]
) -> None:
    async with open_session(tmp_path) as session:
        port = await session.serve(place)
        assert await session.commands.run("") == f"- {port}: not forwarded"
        shown = await session.commands.run(str(port))
        assert shown == f"{port}: http://127.0.0.1:{port}/"
        assert [await to_thread.run_sync(greet, port) for _ in range(2)] == [b"hello you"] * 2
        assert await session.commands.run("") == f"- {shown}"
        assert await session.commands.run(f"stop {port}") == f"Port {port} is no longer forwarded."
        await assert_refused(port)


async def assert_refused(port: int) -> None:
    def is_refused() -> bool:
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", port)) == errno.ECONNREFUSED

    await wait_until(is_refused)


async def test_a_taken_port_of_this_machine_is_replaced_by_a_free_one(tmp_path: Path) -> None:
    async with open_session(tmp_path) as session:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = await session.serve(port=taken.getsockname()[1])
            first = await session.sandbox.forward(port)
            again = await session.sandbox.forward(port)
        assert first == again
        assert first.machine_port != port
        assert await to_thread.run_sync(greet, first.machine_port) == b"hello you"


async def test_a_port_without_a_server_closes_each_connection(tmp_path: Path) -> None:
    async with open_session(tmp_path) as session:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        assert "no command listens there yet" in await session.commands.run(str(port))
        forwarded = session.sandbox.network.forwarded_ports[port]
        assert await to_thread.run_sync(greet_nobody, forwarded.machine_port) == b""
        await session.serve(port=port)
        assert await to_thread.run_sync(greet, forwarded.machine_port) == b"hello you"


def greet_nobody(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), HANG_TIMEOUT_SECONDS) as client:
        return client.recv(9)


async def test_forwarding_ends_with_the_session(tmp_path: Path) -> None:
    async with open_session(tmp_path) as session:
        forwarded = await session.sandbox.forward(await session.serve())
    await assert_refused(forwarded.machine_port)


@pytest.mark.parametrize("text", ["0", "70000", "x", "stop", "1 2", "stop x", "-1", "٣"])
async def test_anything_but_a_port_is_answered_with_the_usage(tmp_path: Path, text: str) -> None:
    sandbox = make_sandbox(create_directories(tmp_path))
    assert await PortCommands(sandbox).run(text) == USAGE


async def test_without_servers_the_list_says_so(tmp_path: Path) -> None:
    sandbox = make_sandbox(create_directories(tmp_path))
    assert await PortCommands(sandbox).run("") == NO_PORTS
    assert "was not forwarded" in await PortCommands(sandbox).run("stop 80")


CHOICES: Sequence[tuple[PortAccess, str, str, int]] = (
    ("ask", "allow_once", "completed", 1),
    ("ask", "reject_once", "failed", 1),
    ("off", "", "failed", 0),
    ("on", "", "completed", 0),
)


@pytest.mark.parametrize(("ports", "answer", "status", "questions"), CHOICES)
async def test_the_model_forwards_a_port_if_the_user_agrees(
    tmp_path: Path, ports: PortAccess, answer: str, status: str, questions: int
) -> None:
    answers: dict[str, Answer] = {ASKS: allow(answer)} if answer else {}
    config = replace(SandboxConfig("workspace"), ports=ports)
    async with open_terminal_sessions(
        tmp_path, LIVE_OUTPUT, answers, mode="ask", sandbox=config
    ) as session:
        session.session.context.options.mode = "bypass"
        await session.run_one(run(serve_command()))
        session.session.context.options.mode = "ask"
        port = int((session.root / "port").read_text())
        updates = await session.run_one(process("forward", port=port))
        asked = session.editor.asked(ASKS)
        assert len(asked) == questions
        if asked:
            assert json_at(asked[0], "toolCall", "title") == (
                f"Make port {port} reachable from this machine?"
            )
            assert f"connections of this machine to port {port}" in str(asked[0]["options"])
        assert updates.status == status
        if status == "completed":
            assert f"http://127.0.0.1:{port}/ on this machine" in updates.text
            assert await to_thread.run_sync(greet, port) == b"hello you"
        else:
            await assert_refused(port)


async def test_a_saved_answer_holds_for_its_port_alone(tmp_path: Path) -> None:
    async with open_terminal_sessions(
        tmp_path,
        LIVE_OUTPUT,
        {ASKS: allow("allow_workspace")},
        mode="ask",
        sandbox=SandboxConfig("workspace"),
    ) as session:
        for port in (48_101, 48_101, 48_102):
            updates = await session.run_one(process("forward", port=port))
            assert "[nothing listens on port" in updates.text
        assert len(session.editor.asked(ASKS)) == 2


async def test_forwarding_needs_a_port(tmp_path: Path) -> None:
    async with open_terminal_sessions(
        tmp_path, LIVE_OUTPUT, sandbox=SandboxConfig("workspace")
    ) as session:
        updates = await session.run_one(process("forward"))
        assert updates.status == "failed"
    async with open_terminal_sessions(tmp_path, LIVE_OUTPUT) as session:
        updates = await session.run_one(process("forward", port=8000))
        assert "already listen on this machine" in updates.text
