"""Processes that belong to a command: found by their group and by their mark, ended for good.

A command leads a process group. What leaves the group (setsid, a daemon) still has in its
environment the mark that the command was given. A mark is a path of numbers, each followed by a
dot: `SERVER.`, `SERVER.SESSION.`, `SERVER.SESSION.COMMAND.`, so that one mark stands for
everything below it. Environments of others can be read where there is a /proc; elsewhere (macOS)
only groups are found.
"""

import os
import signal
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar, TypeVarTuple

import anyio
from anyio import to_thread

from acp_server.tools.shell.environment import MARK_VARIABLE

PROCESSES = Path("/proc")
GRACE_SECONDS = 0.5
LOOK_SECONDS = 0.01
KILL_SECONDS = 0.1
KILL_ROUNDS = 3
"""A process that forks while we look can slip through one round."""
END_SECONDS = 1.0
"""The most that ending takes, whatever the system does."""

Looked = TypeVarTuple("Looked")
Found = TypeVar("Found")

_DEAD = (b"Z", b"X")
_ASK = 0
"""The signal that nobody gets: it only shows whether there is somebody."""


def signal_group(group: int, number: int) -> bool:
    """Signal a process group; false when it is empty, or nothing in it is ours to signal."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):  # macOS: no permission to signal the dead
        return False
    return True


def has_members(group: int) -> bool:
    """Whether there is a process in a group; one that ended and was not waited for counts."""
    return signal_group(group, _ASK)


def marked_processes(mark: str) -> Iterator[int]:
    """Yield the ids of the processes at or below a mark. Reads files; call it in a thread."""
    needle = f"{MARK_VARIABLE}={mark}".encode()
    for process in _process_names():
        try:
            environment = (PROCESSES / process / "environ").read_bytes()
        except OSError:  # it has ended, or is somebody else's
            continue
        if needle in environment:
            yield int(process)


async def end_processes(groups: Collection[int], mark: str) -> bool:
    """End groups and everything marked: politely, then after half a second by force.

    Is not cancelled, and takes at most END_SECONDS. False if something may be left even so.
    """
    with anyio.move_on_after(END_SECONDS, shield=True):
        with anyio.move_on_after(GRACE_SECONDS):
            await _signal_all(groups, mark, signal.SIGTERM)
            await _wait_for_end(groups, mark)
            return True
        for _ in range(KILL_ROUNDS):
            await _signal_all(groups, mark, signal.SIGKILL)
            with anyio.move_on_after(KILL_SECONDS):
                await _wait_for_end(groups, mark)
                return True
    return False


async def _wait_for_end(groups: Collection[int], mark: str) -> None:
    pause_seconds = LOOK_SECONDS
    while await _in_thread(_is_anyone_left, groups, mark):
        await anyio.sleep(pause_seconds)
        pause_seconds *= 2  # to look through all processes is work


async def _signal_all(groups: Collection[int], mark: str, number: int) -> None:
    for group in groups:
        signal_group(group, number)
    await _in_thread(_signal_marked, mark, number)


async def _in_thread(look: Callable[[*Looked], Found], *what: *Looked) -> Found:
    """Do what looks through all processes, waiting for none of the threads that others use."""
    limiter = anyio.CapacityLimiter(1)
    return await to_thread.run_sync(look, *what, abandon_on_cancel=True, limiter=limiter)


def _is_anyone_left(groups: Collection[int], mark: str) -> bool:
    """Whether anything lives in a group or at a mark.

    The dead that nobody has waited for are in their group still; they show in /proc alone.
    """
    held = [group for group in groups if has_members(group)]
    if held and PROCESSES.joinpath("self").exists():
        held = [process for process in _process_names() if _is_living_member(process, held)]
    return bool(held) or any(marked_processes(mark))


def _is_living_member(process: str, groups: Collection[int]) -> bool:
    try:
        line = (PROCESSES / process / "stat").read_bytes()
    except OSError:  # it has ended
        return False
    state, _, group, *_ = line[line.rindex(b")") + 1 :].split()
    return int(group) in groups and state not in _DEAD


def _signal_marked(mark: str, number: int) -> None:
    for process in marked_processes(mark):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, number)


def _process_names() -> Iterator[str]:
    try:
        with os.scandir(PROCESSES) as entries:
            yield from (entry.name for entry in entries if entry.name.isdigit())
    except OSError:  # a system without, or not for us to see
        return
