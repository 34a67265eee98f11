"""Finds out which processes would show a command outside the sandbox the user's keys."""

import os
from collections.abc import Collection, Mapping
from pathlib import Path

from acp_server.tools.shell.environment import MIN_SECRET_LENGTH

MAX_BYTES = 1_000_000
OWN_MEMORY = "It could read your API keys in the memory of this program"
OTHER_PROCESS = "It could read your API keys in the environment of {name} (process {pid})"


def describe_exposure(
    environment: Mapping[str, str], secret_names: Collection[str], *, has_private_memory: bool
) -> str:
    """Return what a command outside the sandbox could read, as a phrase; empty if nothing.

    `environment` is this process's. The programs that started it usually have the same variables.
    Blocks for some milliseconds.
    """
    found = [] if has_private_memory else [OWN_MEMORY]
    values = [
        os.fsencode(environment[name])
        for name in secret_names
        if len(environment.get(name, "")) >= MIN_SECRET_LENGTH
    ]
    holder = _find_holder(values) if values else None
    if holder is not None:
        found.append(OTHER_PROCESS.format(name=_name_of(holder), pid=holder))
    return ". ".join(found)


def _find_holder(values: Collection[bytes]) -> int | None:
    """Return a process with one of the values in its environment, this program's parent first."""
    try:
        ids = [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208
    except OSError:
        return None
    parent = os.getppid()
    for pid in sorted(ids, key=lambda each: (each != parent, each)):
        if pid != os.getpid() and any(value in _environment_of(pid) for value in values):
            return pid
    return None


def _environment_of(pid: int) -> bytes:
    """Return the environment block of a process; empty if it cannot be read."""
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            return file.read(MAX_BYTES)
    except OSError:
        return b""


def _name_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", errors="replace").strip()
    except OSError:
        return "a program"
