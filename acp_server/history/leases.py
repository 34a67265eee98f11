"""Session leases: rows that name the process holding a session, its machine and last heartbeat.

A lease expires when its process is gone. A process on another machine cannot be checked; there it
expires after a while without a heartbeat. Clocks differ and can be set back, so a time in the
future is no sign of life either. A process that loses its lease anyway may not write any more.
"""

import os
import secrets
import socket
import sys
import time
from collections.abc import Collection
from dataclasses import astuple, field
from pathlib import Path
from sqlite3 import Connection
from typing import cast

from acp_server.startup.fast_dataclass import frozen_dataclass

if sys.platform == "linux":
    from acp_server.history.process_start_linux import process_start_token
else:
    from acp_server.history.process_start_psutil import process_start_token

HEARTBEAT_SECONDS = 10.0
LEASE_TIMEOUT_SECONDS = 30.0
_MICROSECONDS = 1_000_000


def _machine_name() -> str:
    """Return a name for this machine and process namespace; each container has its own."""
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}/{namespace}"


@frozen_dataclass
class LeaseHolder:
    """One archive in one process."""

    key: str = field(default_factory=lambda: secrets.token_hex(8))
    machine: str = field(default_factory=_machine_name)
    pid: int = field(default_factory=os.getpid)
    start_token: str = field(default_factory=lambda: process_start_token(os.getpid()) or "")


@frozen_dataclass
class Lease:
    """The holder of a session and its last heartbeat."""

    holder: LeaseHolder
    heartbeat_us: int

    def has_expired(self, own_holder: LeaseHolder, now_us: int) -> bool:
        """Whether the holder is gone, as far as this process can see."""
        # abs: a heartbeat from the future, of a clock that was wrong, must not hold the session
        # forever.
        is_silent = abs(now_us - self.heartbeat_us) > LEASE_TIMEOUT_SECONDS * _MICROSECONDS
        if self.holder.machine != own_holder.machine:
            return is_silent
        start_token = process_start_token(self.holder.pid)
        if start_token is None:
            return True
        # A different start means that the process id was reused. But where the start is measured by
        # the system's clock, setting the clock changes it too, so the heartbeat decides.
        return start_token != self.holder.start_token and is_silent

    def describe_holder(self, own_holder: LeaseHolder) -> str:
        """Return the holder as text for the user."""
        process = f"process {self.holder.pid}"
        machine = self.holder.machine.partition("/")[0]
        return process if self.holder.machine == own_holder.machine else f"{process} on {machine}"


def now_us() -> int:
    """Return the current time in microseconds, as columns store it."""
    return time.time_ns() // 1000


def claim(connection: Connection, session_id: str, own_holder: LeaseHolder) -> None:
    """Claim a session, whoever held it."""
    connection.execute(
        # The caller checks the former lease in the same transaction.
        "INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?, ?)",
        (session_id, *astuple(own_holder), now_us()),
    )


def find(connection: Connection, session_id: str) -> Lease | None:
    """Return the lease of a session, or None."""
    row = connection.execute(
        "SELECT holder, machine, pid, started, beat_us FROM leases WHERE session_id = ?",
        (session_id,),
    ).fetchone()
    return None if row is None else Lease(LeaseHolder(*row[:4]), row[4])


def held_session_ids(connection: Connection, own_holder: LeaseHolder) -> Collection[str]:
    """Return the ids of the sessions this holder has."""
    found = connection.execute("SELECT session_id FROM leases WHERE holder = ?", (own_holder.key,))
    return {cast("str", row[0]) for row in found}


def release(connection: Connection, session_id: str, own_holder: LeaseHolder) -> None:
    """Give up a session, if this holder has it."""
    connection.execute(
        # Only our own: another process may have taken the session over meanwhile.
        "DELETE FROM leases WHERE session_id = ? AND holder = ?",
        (session_id, own_holder.key),
    )


def send_heartbeat(connection: Connection, own_holder: LeaseHolder) -> None:
    """Renew the heartbeat of all leases of this holder."""
    connection.execute("UPDATE leases SET beat_us = ? WHERE holder = ?", (now_us(), own_holder.key))
