"""Who has a session: rows that name a process, its machine, and when it was last heard of.

A lease is over when its process is gone. On another machine that cannot be seen: there it is over
when nothing was heard for a while. Clocks differ and are set back, so a time in the future is no
sign of life either. Whoever loses a lease all the same may not write any more (`mine`).
"""

import os
import secrets
import socket
import sys
import time
from collections.abc import Collection
from dataclasses import field
from pathlib import Path
from sqlite3 import Connection
from typing import cast

from acp_server.frozen import frozen

if sys.platform == "linux":
    from acp_server.history.started_linux import started
else:
    from acp_server.history.started_elsewhere import started

BEAT_SECONDS = 10.0
LAPSE_SECONDS = 30.0
_MICROSECONDS = 1_000_000


def _machine() -> str:
    """Return what names this machine; containers of one name have processes of their own."""
    try:
        space = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        space = ""
    return f"{socket.gethostname()}/{space}"


@frozen
class Holder:
    """One archive of one process."""

    key: str = field(default_factory=lambda: secrets.token_hex(8))
    machine: str = field(default_factory=_machine)
    pid: int = field(default_factory=os.getpid)
    started: str = field(default_factory=lambda: started(os.getpid()) or "")


@frozen
class Lease:
    """A session's holder, and when it was last heard of."""

    holder: Holder
    beat_us: int

    def is_over(self, here: Holder, now_us: int) -> bool:
        """Whether its holder is gone, as it looks from here."""
        is_silent = abs(now_us - self.beat_us) > LAPSE_SECONDS * _MICROSECONDS
        if self.holder.machine != here.machine:
            return is_silent
        since = started(self.holder.pid)
        if since is None:
            return True
        # Another process may have the number now. Where the time of a process's start is told by
        # the clock, a clock that was set makes it another time: silence decides.
        return since != self.holder.started and is_silent

    def described(self, here: Holder) -> str:
        """Return who holds it, for the user."""
        process = f"process {self.holder.pid}"
        machine = self.holder.machine.partition("/")[0]
        return process if self.holder.machine == here.machine else f"{process} on {machine}"


def now_us() -> int:
    """Return the time of the clock, as columns have it."""
    return time.time_ns() // 1000


def take(connection: Connection, session_id: str, here: Holder) -> None:
    """Note that a session is ours; whose it was is not asked."""
    connection.execute(
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)",
        (session_id, here.key, here.machine, here.pid, here.started, now_us()),
    )


def find(connection: Connection, session_id: str) -> Lease | None:
    """Return who has a session, or had it."""
    row = connection.execute(
        "SELECT holder, machine, pid, started, beat_us FROM leases WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    return None if row is None else Lease(Holder(*row[:4]), row[4])


def mine(connection: Connection, here: Holder) -> Collection[str]:
    """Return the ids of the sessions that are ours."""
    found = connection.execute("SELECT session_id FROM leases WHERE holder = ?", (here.key,))
    return {cast("str", row[0]) for row in found}


def release(connection: Connection, session_id: str, here: Holder) -> None:
    """Let others have a session, if it was ours."""
    connection.execute(
        "DELETE FROM leases WHERE session_id = ? AND holder = ?", (session_id, here.key)
    )


def beat(connection: Connection, here: Holder) -> None:
    """Note that we are alive."""
    connection.execute("UPDATE leases SET beat_us = ? WHERE holder = ?", (now_us(), here.key))
