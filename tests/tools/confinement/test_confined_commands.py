"""What confined commands can do, and what they cannot, on this machine."""

import os
import shlex
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_server.tools.shell.confinement.launchers import MissingLauncher
from acp_server.tools.shell.confinement.limits import SandboxLimits
from tests.support.case_table import named_case
from tests.tools.confinement.sandbox_setup import (
    SECRET,
    SandboxDirectories,
    create_directories,
    launcher,
    needs_landlock,
    needs_sandbox,
    open_confined,
    with_network,
)

pytestmark = needs_sandbox


@pytest.fixture
def ground(tmp_path: Path) -> SandboxDirectories:
    return create_directories(tmp_path)


def _state(folder: Path) -> dict[str, tuple[int, int, str]]:
    """What lies in a folder: modes, times, contents."""
    found: dict[str, tuple[int, int, str]] = {}
    for path in (folder, *sorted(folder.rglob("*"))):
        status = path.lstat()
        text = path.read_text() if path.is_file() else ""
        found[str(path)] = (status.st_mode, status.st_mtime_ns, text)
    return found


WRITES = {
    "a new file": "echo x > {outside}/new",
    "an old file": "echo x > {outside}/there.txt",
    "more of an old file": "echo x >> {outside}/there.txt",
    "cut an old file": "truncate -s 0 {outside}/there.txt",
    "delete": "rm -f {outside}/there.txt",
    "a folder": "mkdir {outside}/folder",
    "a link": "ln -s /etc {outside}/link",
    "a hard link in": "ln {outside}/there.txt mine && echo x > mine",
    "move there": "touch mine; mv mine {outside}/mine",
    "move away": "mv {outside}/there.txt mine",
    "a pipe": "mkfifo {outside}/pipe",
    "a link that leads there": "ln -s {outside} way; echo x > way/new",
    "a link to the file": "ln -s {outside}/there.txt way; echo x > way",
    "a path with dots": "echo x > ../../outside/new",
    "by way of /proc": "echo x > /proc/self/root{outside}/new",
    "by way of its folder": "cd {outside} && echo x > new",
    "in the home": "echo x > ~/new; echo x > {outside}/new",
    "a grandchild": 'bash -c "bash -c \\"echo x > {outside}/new\\""',
    "a child of its own session": "setsid -w sh -c 'echo x > {outside}/new'",
    "a daemon": "(setsid sh -c 'echo x > {outside}/new; touch {root}/done' &); "
    "until [ -e {root}/done ]; do sleep 0.01; done; false",
    "a child without our variables": "env -i /bin/sh -c 'echo x > {outside}/new'",
    "another user's powers": "unshare -Ur sh -c 'echo x > {outside}/new'",
    "a mount": "unshare -Urm sh -c 'mount --bind {root} {outside} && echo x > {outside}/new'",
    "another program": '{python} -c \'open("{outside}/new", "w").write("x")\'',
}


@pytest.mark.parametrize("size", [6, pytest.param(1, marks=pytest.mark.full)])
async def test_nothing_is_written_outside_the_sandbox(
    ground: SandboxDirectories, size: int
) -> None:
    """Attempts of a group follow each other in one command."""
    names = sorted(ground.home.iterdir())
    async with open_confined(ground) as session:
        for first in range(0, len(WRITES), size):
            group = dict([*WRITES.items()][first : first + size])
            before = _state(ground.outside)
            with named_case(f"among {', '.join(group)}"):
                outcome = await session.run("; ".join(_attempts(group, ground)))
                assert _state(ground.outside) == before
                assert sorted(ground.home.iterdir()) == names
                assert [each for each in group if f"<{each} failed>" not in outcome.output] == []


def _attempts(group: Mapping[str, str], directories: SandboxDirectories) -> Iterator[str]:
    """Yield a command for each attempt, which tells whether it failed and cleans up behind it."""
    for name, command in group.items():
        yield f"( {_filled(command, directories)}\n) || echo {shlex.quote(f'<{name} failed>')}"
        yield f"rm -f {directories.root}/*"


def _clear(folder: Path) -> None:
    """Remove what a command has made in its workspace."""
    for each in folder.iterdir():
        each.unlink()


METADATA = {
    "its mode": "chmod 777 {outside}/there.txt",
    "its time": "touch -d 2001-01-01 {outside}/there.txt",
    "the mode of a folder": "chmod 777 {outside}",
}


@needs_landlock
async def test_modes_and_times_outside_the_sandbox_cannot_change(
    ground: SandboxDirectories,
) -> None:
    before = _state(ground.outside)
    async with open_confined(ground) as shell:
        outcomes = {
            name: await shell.run(_filled(command, ground)) for name, command in METADATA.items()
        }
        has_view = (await shell.run("grep -q ' / / ro' /proc/self/mountinfo")).ended.exit.code == 0
    if not has_view:
        pytest.skip("there are no namespaces to be had on this machine")
    assert _state(ground.outside) == before
    assert [name for name, each in outcomes.items() if each.ended.exit.code == 0] == []


async def test_the_workspace_and_temporary_directories_are_writable(
    ground: SandboxDirectories,
) -> None:
    command = (
        "mkdir -p a/b && echo x > a/b/c && mv a/b/c a/d && ln a/d a/e && chmod 600 a/d && rm a/e "
        f"&& echo y > {ground.temporary_directories}/t && echo z > /dev/null "
        f"&& cat a/d {ground.temporary_directories}/t"
    )
    async with open_confined(ground) as session:
        outcome = await session.run(command)
    assert (outcome.output, outcome.ended.exit.code) == ("x\ny\n", 0)


async def test_a_directory_from_the_settings_is_writable(ground: SandboxDirectories) -> None:
    config = replace(ground.config, writable_directories=(ground.outside,))
    async with open_confined(ground, config) as session:
        outcome = await session.run(f"echo x > {ground.outside}/there.txt")
    assert outcome.ended.exit.code == 0
    assert (ground.outside / "there.txt").read_text() == "x\n"


PRIVATE = (
    "~/.ssh/id_ed25519",
    "~/.aws/credentials",
    "~/.config/gh/hosts.yml",
    "~/.netrc",
    "~/.bash_history",
    "~/.hermes/.env",
    "~/.hermes/acp/credentials.json",
    "~/.hermes/acp/sessions.db",
)


async def test_private_files_are_not_readable(ground: SandboxDirectories) -> None:
    async with open_confined(ground) as session:
        for name in PRIVATE:
            with named_case(name):
                result = await session.run(
                    f"cat {name}; ln -s {name} way; cat way; cp {name} mine; ln {name} hard; "
                    f"cat hard; bash -c 'cat {name}'; (cd ~; cat {name.removeprefix('~/')}); "
                    f"cat /proc/self/root{name.replace('~', str(ground.home))}"
                )
                assert SECRET not in result.output
                mine = ground.root / "mine"
                assert not mine.exists() or not mine.read_text()
            _clear(ground.root)


async def test_the_rest_of_the_home_is_readable(ground: SandboxDirectories) -> None:
    async with open_confined(ground) as session:
        outcome = await session.run(
            "cat ~/notes/today.md ~/.gitconfig ~/.hermes/skills/*/SKILL.md && ls ~ / > /dev/null"
        )
    assert outcome.ended.exit.code == 0, outcome.output
    assert "Say hello." in outcome.output


async def test_a_file_that_just_became_private_is_not_readable(ground: SandboxDirectories) -> None:
    async with open_confined(ground) as session:
        (ground.home / ".kube").mkdir()
        (ground.home / ".kube" / "config").write_text(SECRET)
        assert SECRET not in (await session.run("cat ~/.kube/config")).output


async def test_private_files_within_the_workspace_are_protected(ground: SandboxDirectories) -> None:
    home = replace(ground, root=ground.home)
    async with open_confined(home) as session:
        result = await session.run(
            "cat .ssh/id_ed25519; echo x > .ssh/authorized_keys; echo x > notes/new; cat notes/new"
        )
    assert SECRET not in result.output
    assert result.output.endswith("x\n")
    assert not (ground.home / ".ssh" / "authorized_keys").exists()


async def test_strict_commands_read_only_the_workspace_and_the_system(
    ground: SandboxDirectories,
) -> None:
    (ground.root / "own.txt").write_text("own")
    config = replace(ground.config, mode="strict")
    async with open_confined(ground, config) as session:
        refused = await session.run(f"cat ~/notes/today.md; ls ~; ls {ground.outside}")
        read = await session.run("cat own.txt /etc/passwd > /dev/null && git --version")
    assert "nothing" not in refused.output
    assert "there.txt" not in refused.output
    assert read.ended.exit.code == 0, read.output


NETWORK = {
    "a connection": "import socket; socket.create_connection(('127.0.0.1', {port}), 2)",
    "a datagram": (
        "import socket; s = socket.socket(2, 2); s.connect(('192.0.2.1', 9)); s.send(b'x')"
    ),
    "a name": "import socket; socket.create_connection(('example.org', 80), 2)",
    "a socket of another program": (
        "import socket; s = socket.socket(socket.AF_UNIX); s.connect('{socket}')"
    ),
}


async def test_the_network_is_unreachable(ground: SandboxDirectories) -> None:
    path = ground.temporary_directories / "listening"
    with closing(socket.create_server(("127.0.0.1", 0))) as server, closing(_listening(path)):
        async with open_confined(ground) as session:
            for name, code in NETWORK.items():
                filled = code.format(port=server.getsockname()[1], socket=path)
                words = f"{sys.executable} -S -c {shlex.quote(filled)}"
                with named_case(name):
                    outcome = await session.run(
                        f"{words}; echo code $?; (setsid {words} && touch reached &) ; wait"
                    )
                    assert "code 0" not in outcome.output
                    assert "code " in outcome.output
                    assert outcome.ended.exit.code == 0
                    assert not (ground.root / "reached").exists()


def _listening(path: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(os.path.relpath(path))
    listener.listen()
    return listener


async def test_the_network_is_reachable_where_allowed(ground: SandboxDirectories) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        code = f"import socket; socket.create_connection({server.getsockname()!r}, 5)"
        async with open_confined(ground, with_network(ground)) as session:
            outcome = await session.run(f"{sys.executable} -S -c {shlex.quote(code)}")
    assert outcome.ended.exit.code == 0, outcome.output


async def test_a_test_server_within_one_command_is_reachable(ground: SandboxDirectories) -> None:
    code = (
        "import socket; s = socket.create_server(('127.0.0.1', 0)); "
        "socket.create_connection(s.getsockname(), 5); print('reached')"
    )
    async with open_confined(ground) as session:
        outcome = await session.run(f"{sys.executable} -S -c {shlex.quote(code)}")
    assert outcome.output == "reached\n"


@needs_landlock
async def test_outside_processes_cannot_be_signalled_or_inspected(
    ground: SandboxDirectories,
) -> None:
    async with open_confined(ground) as session:
        own_pid = os.getpid()
        signalled = await session.run(f"kill -0 {own_pid}")
        looked = await session.run(f"cat /proc/{own_pid}/environ /proc/{own_pid}/mem")
        child = await session.run("sleep 60 & kill $! && wait $!")
    assert signalled.ended.exit.code != 0
    assert looked.output.count("ermission denied") == 2
    assert child.ended.exit.code == 128 + 15


SCHEDULING = """
import os, resource, sys
other = int(sys.argv[1])
calls = {
    "priority": lambda pid: os.setpriority(os.PRIO_PROCESS, pid, 19),
    "priority of a group": lambda pid: os.setpriority(os.PRIO_PGRP, pid, 19),
    "processors": lambda pid: os.sched_setaffinity(pid, os.sched_getaffinity(pid)),
    "policy": lambda pid: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
    "policy's parameter": lambda pid: os.sched_setparam(pid, os.sched_param(0)),
    "limits": lambda pid: resource.prlimit(pid, resource.RLIMIT_NOFILE, (500, 4096)),
}
for name, call in calls.items():
    call(0)
    try:
        call(other)
    except PermissionError:
        continue
    print(name)
try:
    os.setpriority(os.PRIO_USER, 0, 19)
    print("priority of a user")
except PermissionError:
    print("own")
"""


@needs_landlock
async def test_the_scheduling_and_limits_of_outside_processes_stay(
    ground: SandboxDirectories,
) -> None:
    script = ground.outside / "change.py"
    script.write_text(SCHEDULING)
    confinement = launcher()
    assert not isinstance(confinement, MissingLauncher)
    limits = SandboxLimits(writable=(), hidden=(), has_network=False)
    # Another sandbox's process has no more capabilities, which alone would protect it.
    wrapped = (*confinement.build_arguments(limits, {}), "/bin/cat")
    async with await anyio.open_process(wrapped) as other, open_confined(ground) as session:
        assert other.stdin is not None
        assert other.stdout is not None
        await other.stdin.send(b"ready")
        assert await other.stdout.receive() == b"ready"
        outcome = await session.run(f"{sys.executable} -S {script} {other.pid}")
        by_io = await session.run(f"ionice -c 3 -p {other.pid} || ionice -c 3 echo own")
        await other.stdin.aclose()
    assert outcome.output == "own\n"
    assert by_io.output.endswith("own\n")


@needs_landlock
async def test_perl_environment_variables_reach_only_the_command(
    ground: SandboxDirectories,
) -> None:
    (ground.root / "Loaded.pm").write_text(f"open my $f, '>', '{ground.outside}/new'; 1;")
    variables = {"PERL5LIB": str(ground.root), "PERL5OPT": "-MLoaded"}
    async with open_confined(ground, environment=variables) as session:
        outcome = await session.run("echo $PERL5LIB $PERL5OPT")
    assert outcome.output == f"{ground.root} -MLoaded\n"
    assert not (ground.outside / "new").exists()


def _filled(command: str, dirs: SandboxDirectories) -> str:
    named = {"{outside}": dirs.outside, "{root}": dirs.root, "{python}": sys.executable}
    for name, path in named.items():
        command = command.replace(name, str(path))
    return command
