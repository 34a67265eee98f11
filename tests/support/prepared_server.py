"""Prepared processes: what a command gets when it starts this server as its child.

`demo`, `doctor` and `run --tasks` start it as a new interpreter, whose imports take most of their
time. A fork of the fork server (`tests.support.fork_server`) therefore forks further processes
before it runs such a command. Each waits, in the same state as every other fork, until the command
starts `acp-server`: then it becomes that child, with its arguments, descriptors, environment,
directory and session. One child more, or one that cannot be started so, is a new interpreter as
usual.
"""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

RunCommand: TypeAlias = Callable[[Sequence[int], Sequence[str], Mapping[str, str], str], object]
"""Runs a command line on descriptors, with an environment, in a directory; it does not return."""
StartChild: TypeAlias = Callable[..., int]
"""`_posixsubprocess.fork_exec`, which returns the process id."""
STARTERS = {"demo", "doctor"}
"""Commands that start this server once; `run --tasks` starts a run for each task."""
PREPARED_RUNS = 3
"""Number of processes that are prepared for the tasks of `run --tasks`."""
START_CHILD = "_fork_exec"
HEAD_BYTES = 4


@dataclass(slots=True)
class PreparedServers:
    """Processes that are to become the servers that this one starts."""

    start_other: StartChild
    waiting: list[tuple[socket.socket, int]] = field(
        default_factory=list[tuple[socket.socket, int]]
    )
    """Connections to processes that are not used yet, and their ids."""

    def start_child(
        self,
        arguments: Sequence[str],
        executables: Sequence[bytes],
        close_fds: bool,  # noqa: FBT001  as `subprocess` calls it
        fds_to_keep: Sequence[int],
        cwd: str | None,
        environment: Sequence[bytes] | None,
        *others: object,
    ) -> int:
        """Start a child process in place of `subprocess`; return its id."""
        command = _server_arguments(arguments)
        reads, _, _, writes, _, error_writes, _, _, _, is_session_leader = others[:10]
        if command is None or not self.waiting or len(fds_to_keep) > 1:
            return self.start_other(
                arguments, executables, close_fds, fds_to_keep, cwd, environment, *others
            )
        connection, process_id = self.waiting.pop()
        variables = [each.decode("utf-8", "surrogateescape") for each in environment or ()]
        if environment is None:
            variables = [f"{name}={value}" for name, value in os.environ.items()]  # noqa: TID251
        directory = str(cwd or Path.cwd())
        request = json.dumps([command, variables, directory, is_session_leader]).encode()
        ends = (reads, writes, error_writes)
        streams = [
            end if isinstance(end, int) and end >= 0 else number for number, end in enumerate(ends)
        ]
        try:
            head = len(request).to_bytes(HEAD_BYTES, "big")
            with connection:
                socket.send_fds(connection, [head], streams)
                connection.sendall(request)
                is_started = connection.recv(1) != b""
        except OSError:
            is_started = False
        if is_started:
            return process_id
        return self.start_other(
            arguments, executables, close_fds, fds_to_keep, cwd, environment, *others
        )


def prepare_server(arguments: Sequence[str], run_command: RunCommand) -> None:
    """Fork processes for the servers that this command is going to start, if it does that."""
    count = PREPARED_RUNS if "--tasks" in arguments else len(STARTERS.intersection(arguments[:1]))
    if count == 0:
        return
    prepared = PreparedServers(vars(subprocess)[START_CHILD])
    for _ in range(count):
        connection, its = socket.socketpair()
        process_id = os.fork()
        if process_id == 0:
            # the copies of a sibling's end would keep it from learning of the command's death
            for each, _ in (*prepared.waiting, (connection, 0)):
                each.close()
            _wait_for_use(its, run_command)
        its.close()
        prepared.waiting.append((connection, process_id))
    setattr(subprocess, START_CHILD, prepared.start_child)


def _wait_for_use(connection: socket.socket, run_command: RunCommand) -> None:
    """Wait until this process is used, and run its command; exit if it never is."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):  # the streams belong to the command alone
        os.dup2(nothing, number)
    os.close(nothing)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(connection, HEAD_BYTES, 3)
    if not head:
        os._exit(0)
    request = b""
    while len(request) < int.from_bytes(head, "big"):
        request += connection.recv(int.from_bytes(head, "big"))
    command, variables, directory, is_session_leader = json.loads(request)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if is_session_leader:
        os.setsid()
    with suppress(BrokenPipeError):  # the command was killed
        connection.sendall(b"\0")
    connection.close()
    environment = dict(each.split("=", 1) for each in variables)
    run_command(streams, command, environment, directory)


def _server_arguments(arguments: Sequence[str]) -> list[str] | None:
    """Return the arguments of a command that starts this server; None for another command."""
    words = [os.fsdecode(each) for each in arguments]
    if words[:1] != [sys.executable] or "-m" not in words:
        return None
    module = words.index("-m") + 1
    are_flags = all(each.startswith("-") for each in words[1 : module - 1])
    is_server = words[module : module + 1] == ["acp_server"]
    return words[module + 1 :] if are_flags and is_server else None
