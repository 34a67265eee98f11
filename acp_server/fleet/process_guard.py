"""Guard that ends the processes of attempts if this process dies, even by SIGKILL.

A small shell process holds the read end of a pipe (`tools/shell/watcher.sh`). Our death closes the
write end, on every POSIX system; the shell then ends the registered process groups. It runs in a
session of its own, so no signal of our terminal reaches it.
"""

import os
import secrets
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from threading import Lock

from acp_server.tools.shell.environment import MARK_VARIABLE
from acp_server.tools.shell.watcher import SCRIPT

RELEASE_SECONDS = 1.5


class ProcessGuard:
    """Record of process groups, mirrored to a process that outlives this one. Thread-safe."""

    def __init__(self) -> None:
        self._id = f"fleet-{secrets.token_hex(8)}"
        self._lock = Lock()
        self._groups: set[int] = set()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def mark(self) -> Mapping[str, str]:
        """Variable for processes that may not be registered yet when this process dies.

        The guard finds them by it where there is a /proc.
        """
        return {MARK_VARIABLE: self._id}

    def add(self, group: int) -> None:
        """Register a process group.

        Raises:
            OSError: The guard cannot be started.
        """
        with self._lock:
            self._groups.add(group)
            if self._process is None or self._process.poll() is not None:
                self._start()
            else:
                self._send(f"+{group}\n")

    def remove(self, group: int) -> None:
        """Remove a process group, which has ended: its number may be used again."""
        with self._lock:
            self._groups.discard(group)
            self._send(f"-{group}\n")

    def close(self) -> None:
        """End the guard, and with it all groups that are still registered."""
        with self._lock:
            process, self._process = self._process, None
            if process is None or process.stdin is None:
                return
            with suppress(OSError):
                process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(RELEASE_SECONDS)

    def _start(self) -> None:
        """Start the guard and send it all groups."""
        self._process = subprocess.Popen(  # noqa: S603  our own script
            ("/bin/sh", str(SCRIPT), self._id),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            cwd="/",
            env={"PATH": os.defpath, "LC_ALL": "C"},
            start_new_session=True,
        )
        for group in self._groups:
            self._send(f"+{group}\n")

    def _send(self, line: str) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):  # it has died: the next `add` starts another one
                self._process.stdin.write(line.encode())
