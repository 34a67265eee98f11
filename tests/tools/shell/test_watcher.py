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

SHELLS = {
    name: pytest.param(
        command, id=name, marks=pytest.mark.skipif(not which(command[0]), reason="absent")
    )
    for name, command in {
        "sh": ["sh"],
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
        sleeper() as told,
        sleeper() as untold,
        sleeper() as forgotten,
        sleeper("mine.3.") as stray,
    ):
        watcher = subprocess.Popen([*shell, str(SCRIPT), "mine."], stdin=subprocess.PIPE)
        told_of = f"+{forgotten.pid}\n+{told.pid}\n-{forgotten.pid}\n-12\nnonsense\n"
        watcher.communicate(told_of.encode(), timeout=5)
        assert watcher.returncode is not None
        assert told.wait(1) == stray.wait(1) == -signal.SIGTERM
        assert untold.poll() is forgotten.poll() is None


async def watched(place: CommandSession) -> psutil.Process:
    """Run a first command; return the process that watches over it."""
    await place.run("true")
    assert place.watcher.process_id
    return psutil.Process(place.watcher.process_id)


def is_prepared(process_id: int) -> bool:
    """Whether a watching process has come to ignore signals, where the system tells that."""
    status = Path(f"/proc/{process_id}/status")
    if not status.exists():
        return True
    fields = dict(line.split(":\t", 1) for line in status.read_text().splitlines())
    return bool(int(fields["SigIgn"], 16) & 1 << signal.SIGTERM - 1)  # the last of those sent


async def test_the_watcher_inherits_no_descriptor_of_the_server(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as place:
        process = await watched(place)
        assert os.getsid(process.pid) == process.pid
        assert process.cwd() == "/"
        assert process.environ().keys() <= {"PATH", "LC_ALL", "PWD", "_", "SHLVL", "OLDPWD"}
        assert process.num_fds() <= 4


async def test_the_watcher_starts_once_with_the_first_command(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as place:
        assert place.watcher.process_id is None
        process = await watched(place)
        await place.run("true")
        assert place.watcher.process_id == process.pid
        await place.watcher.close()
        assert not process.is_running()


async def test_signals_do_not_end_the_watcher(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as place:
        process = await watched(place)
        await wait_until(lambda: is_prepared(process.pid))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            process.send_signal(number)
        await place.run("sleep 60 >/dev/null 2>&1 &")
        assert place.watcher.process_id == process.pid
        await place.watcher.close()
        await wait_until_running(place.token)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP], ids=["dead", "stuck"])
async def test_a_failed_watcher_is_replaced_and_receives_all_groups(
    tmp_path: Path, number: int
) -> None:
    async with open_command_session(tmp_path) as place:
        first = await watched(place)
        await place.run("sleep 61 >/dev/null 2>&1 &")
        mark = place.watcher.mark
        (group,) = place.watcher.groups(mark)
        first.send_signal(number)
        for _ in range(20_000):  # more than a pipe holds
            place.watcher.register(group, mark)
        assert place.watcher.process_id != first.pid
        await place.run("sleep 62 >/dev/null 2>&1 &")
        await wait_until_running(place.token, "sleep 61", "sleep 62")
        await place.watcher.close()
        await wait_until_running(place.token)


async def test_a_dead_watcher_is_replaced_without_a_command(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as place:
        await place.run("sleep 60 >/dev/null 2>&1 &")
        first = await watched(place)
        first.kill()
        await wait_until(lambda: place.watcher.process_id != first.pid)
        await place.watcher.close()
        await wait_until_running(place.token)


async def test_a_group_is_unregistered_when_its_last_process_ends(tmp_path: Path) -> None:
    async with open_command_session(tmp_path) as place:
        await place.run("sleep 0.2 >/dev/null 2>&1 &")
        assert len(place.watcher.groups(place.watcher.mark)) == 1
        await wait_until(lambda: not place.watcher.groups(place.watcher.mark))
