"""Processes that belong to a command: found by process group and by mark, and terminated.

A command leads a process group. Processes that leave the group (setsid, daemons) still carry the
command's mark in their environment. A mark is a path of numbers, each followed by a dot: `SERVER.`,
`SERVER.SESSION.`, `SERVER.SESSION.COMMAND.`, so that a prefix covers everything below it.
Environments can be read where there is a /proc; elsewhere (macOS) only groups are found.
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

PROC = Path("/proc")
GRACE_SECONDS = 0.5
POLL_SECONDS = 0.01
KILL_SECONDS = 0.1
KILL_ROUNDS = 3
"""A process that forks during the scan can slip through one round."""
MAX_TERMINATION_SECONDS = 1.0
"""Upper bound for the whole termination."""

ScanArgs = TypeVarTuple("ScanArgs")
ScanResult = TypeVar("ScanResult")

_DEAD_STATES = (b"Z", b"X")
_PROBE_SIGNAL = 0
"""Signal 0: delivers nothing, only checks for existence."""


def signal_group(group: int, signal_number: int) -> bool:
    """Signal a process group; return False if it is empty or cannot be signalled by us."""
    try:
        os.killpg(group, signal_number)
    except (ProcessLookupError, PermissionError):  # macOS: EPERM for a group of zombies
        return False
    return True


def has_members(group: int) -> bool:
    """Return whether a process group has members; zombies count."""
    return signal_group(group, _PROBE_SIGNAL)


def find_marked_processes(mark: str) -> Iterator[int]:
    """Yield the ids of the processes at or below a mark. Reads files; run it in a thread."""
    needle = f"{MARK_VARIABLE}={mark}".encode()
    for process in _process_ids():
        try:
            environment = (PROC / process / "environ").read_bytes()
        except OSError:  # it has ended, or belongs to another user
            continue
        if needle in environment:
            yield int(process)


async def terminate_processes(groups: Collection[int], mark: str) -> bool:
    """Terminate groups and all processes at a mark: SIGTERM, after half a second SIGKILL.

    Shielded from cancellation; takes at most MAX_TERMINATION_SECONDS. Return False if processes may
    be left.
    """
    # Shielded: this runs during cancellation, and an unfinished round would leave processes behind.
    with anyio.move_on_after(MAX_TERMINATION_SECONDS, shield=True):
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
    pause_seconds = POLL_SECONDS
    while await _scan_in_thread(_has_survivors, groups, mark):
        await anyio.sleep(pause_seconds)
        pause_seconds *= 2  # back off: each scan reads all of /proc


async def _signal_all(groups: Collection[int], mark: str, signal_number: int) -> None:
    for group in groups:
        signal_group(group, signal_number)
    await _scan_in_thread(_signal_marked, mark, signal_number)


async def _scan_in_thread(scan: Callable[[*ScanArgs], ScanResult], *args: *ScanArgs) -> ScanResult:
    """Run a scan of all processes in a thread, with a limiter of its own."""
    # An own limiter: the shared one may be exhausted, and termination must not queue behind other
    # work. Abandoned on cancel, so that a slow scan cannot exceed the limit.
    limiter = anyio.CapacityLimiter(1)
    return await to_thread.run_sync(scan, *args, abandon_on_cancel=True, limiter=limiter)


def _has_survivors(groups: Collection[int], mark: str) -> bool:
    """Return whether a process lives in one of the groups or at the mark.

    Zombies still count as members of their group; only /proc tells them apart.
    """
    survivors = [group for group in groups if has_members(group)]
    if survivors and PROC.joinpath("self").exists():
        survivors = [process for process in _process_ids() if _is_living_member(process, survivors)]
    return bool(survivors) or any(find_marked_processes(mark))


def _is_living_member(process: str, groups: Collection[int]) -> bool:
    try:
        line = (PROC / process / "stat").read_bytes()
    except OSError:  # it has ended
        return False
    # Parse after the last `)`: the process name before it may hold spaces and parentheses.
    state, _, group, *_ = line[line.rindex(b")") + 1 :].split()
    return int(group) in groups and state not in _DEAD_STATES


def _signal_marked(mark: str, signal_number: int) -> None:
    for process in find_marked_processes(mark):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(process, signal_number)


def _process_ids() -> Iterator[str]:
    try:
        with os.scandir(PROC) as entries:
            yield from (entry.name for entry in entries if entry.name.isdigit())
    except OSError:  # no /proc here, or it is not readable
        return
