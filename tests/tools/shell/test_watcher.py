"""The watching process by itself, under each shell that may be its interpreter."""

import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from shutil import which

import psutil
import pytest

from acp_server.tools.shell.environment import MARK_VARIABLE
from acp_server.tools.shell.watcher import SCRIPT
from tests.tools.shell.command_session import (
    CommandSession,
    open_command_session,
    wait_until,
    wait_until_running,
)


def is_dash(shell: str | None) -> bool:
    """Whether a shell is one that is tested by its own name."""
    return shell is not None and Path(shell).resolve().name == "dash"


SHELLS = {
    name: pytest.param(
        command, id=name, marks=pytest.mark.skipif(not which(command[0]), reason="absent")
    )
    for name, command in {
        **({} if is_dash(which("sh")) else {"sh": ["sh"]}),
        "dash": ["dash"],
        "bash": ["bash", "--posix"],
        "busybox": ["busybox", "sh"],
    }.items()
}


ENVIRONMENT = {"PATH": os.defpath}


@contextmanager
def sleeper(mark: str = "none.") -> Generator[subprocess.Popen[bytes]]:
    """A process that leads a group of its own."""
    process = subprocess.Popen(
        ["sleep", "60"], start_new_session=True, env={**ENVIRONMENT, MARK_VARIABLE: mark}
    )
    with process:
        yield process
        process.kill()


@pytest.mark.parametrize("shell", SHELLS.values())
def test_the_watcher_ends_registered_groups_at_the_end_of_its_input(shell: list[str]) -> None:
    with (
        sleeper() as listed,
        sleeper() as unlisted,
        sleeper() as removed,
        sleeper("mine.3.") as stray,
    ):
        watcher = subprocess.Popen([*shell, str(SCRIPT), "mine."], stdin=subprocess.PIPE)
        watcher_input = f"+{removed.pid}\n+{listed.pid}\n-{removed.pid}\n-12\nnonsense\n"
        assert watcher.stdin is not None
        with watcher, watcher.stdin as stdin:
            stdin.write(watcher_input.encode())
        # at once, since the watcher goes on as long as anything is left of them
        assert listed.wait(5) == stray.wait(5) == -signal.SIGTERM
        assert watcher.wait(5) is not None
        assert unlisted.poll() is removed.poll() is None


async def start_watcher(session: CommandSession) -> psutil.Process:
    """Run a first command; return the process that watches over it."""
    await session.run("true")
    assert session.watcher.process_id
    return psutil.Process(session.watcher.process_id)


def is_prepared(process_id: int) -> bool:
    """Whether a watching process has come to ignore signals, where the system tells that."""
    status = Path(f"/proc/{process_id}/status")
    if not status.exists():
        return True
    fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
    return bool(int(fields["SigIgn"], 16) & 1 << signal.SIGTERM - 1)  # the last of those sent


async def test_the_watcher_inherits_no_descriptor_of_the_server(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        process = await start_watcher(session)
        assert os.getsid(process.pid) == process.pid
        assert process.cwd() == "/"
        assert process.environ().keys() <= {"PATH", "LC_ALL", "PWD", "_", "SHLVL", "OLDPWD"}
        assert process.num_fds() <= 4


async def test_the_watcher_starts_once_with_the_first_command(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        assert session.watcher.process_id is None
        process = await start_watcher(session)
        await session.run("true")
        assert session.watcher.process_id == process.pid
        await session.watcher.close()
        assert not process.is_running()


async def test_signals_do_not_end_the_watcher(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        process = await start_watcher(session)
        await wait_until(lambda: is_prepared(process.pid))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process.send_signal(number)
        await session.run("sleep 60 >/dev/null 2>&1 &")
        assert session.watcher.process_id == process.pid
        await session.watcher.close()
        await wait_until_running(session.token)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "stuck"])
async def test_a_failed_watcher_is_replaced_and_receives_all_groups(
    tmp_path: Path, number: int
) -> None:
    async with open_command_session(tmp_path) as session:
        first = await start_watcher(session)
        await session.run("sleep 61 >/dev/null 2>&1 &")
        mark = session.watcher.mark
        (group,) = session.watcher.groups(mark)
        first.send_signal(number)
        for _ in range(10_000):  # more than a pipe holds
            session.watcher.register(group, mark)
        assert session.watcher.process_id != first.pid
        await session.run("sleep 62 >/dev/null 2>&1 &")
        await wait_until_running(session.token, "sleep 61", "sleep 62")
        await session.watcher.close()
        await wait_until_running(session.token)


async def test_a_dead_watcher_is_replaced_without_a_command(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        await session.run("sleep 60 >/dev/null 2>&1 &")
        first = await start_watcher(session)
        first.kill()
        await wait_until(lambda: session.watcher.process_id != first.pid)
        await session.watcher.close()
        await wait_until_running(session.token)


async def test_a_group_is_unregistered_when_its_last_process_ends(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as session:
        await session.run("sleep 0.2 >/dev/null 2>&1 &")
        assert len(session.watcher.groups(session.watcher.mark)) == 1
        await wait_until(lambda: not session.watcher.groups(session.watcher.mark))
