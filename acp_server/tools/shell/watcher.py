"""Watcher process that outlives the server and terminates its leftover commands.

Records the process groups that may be running, here and in the watcher process. The watcher holds
the read end of a pipe: the server's death, even by SIGKILL, closes the write end. It starts with
the first command, in its own session, and is restarted if it dies.

A group's number can be reused once the group is empty, so it is removed from the record within a
second. Systems assign numbers in ascending order, so none returns that soon.
"""

import os
import secrets
import subprocess
from collections.abc import Mapping
from pathlib import Path
from threading import Thread

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.process_groups import has_members

SCRIPT = Path(__file__).with_name("watcher.sh")
PRUNE_SECONDS = 1.0
RELEASE_SECONDS = 1.5


class ProcessWatcher:
    """Registry of all commands' process groups, mirrored to a process that outlives the server."""

    def __init__(
        self,
        tasks: TaskGroup,
        environment: Mapping[str, str],
        prune_seconds: float = PRUNE_SECONDS,
    ) -> None:
        """Prepare; a task in `tasks` prunes the record while it is not empty.

        Only PATH is used of the environment.
        """
        self._tasks = tasks
        self._prune_seconds = prune_seconds
        self._path = environment.get("PATH", os.defpath)
        self._groups: dict[int, str] = {}
        self._process: _WatcherProcess | None = None
        self._is_pruning = False
        self._sessions = 0
        self.mark = f"{secrets.token_hex(8)}."

    def new_session_mark(self) -> str:
        """Return a new mark below the server's."""
        self._sessions += 1
        return f"{self.mark}{self._sessions}."

    @property
    def process_id(self) -> int | None:
        """Id of the watcher process, if it was started."""
        return self._process.id if self._process else None

    def register(self, group: int, mark: str) -> None:
        """Register a group for termination. Call it before anything runs in the group.

        Raises:
            ShellError: The watcher process cannot be started.
        """
        # Order: add it first, so that a replacement started by `_send` receives this group, too.
        self._groups[group] = mark
        try:
            self._send(f"+{group}\n")
        except OSError as error:
            del self._groups[group]
            reason = f"no command can be run: the process that would end it is missing: {error}"
            raise ShellError(reason) from error
        if not self._is_pruning:
            self._is_pruning = True
            self._tasks.start_soon(self._prune_periodically)

    def unregister(self, group: int) -> None:
        """Remove a group from the record."""
        if self._groups.pop(group, None) is None:
            return
        try:
            self._send(f"-{group}\n")
        except OSError:  # drop it: the next watcher starts without this group
            self._drop()

    def unregister_if_empty(self, group: int) -> None:
        """Remove a group from the record unless a process is in it."""
        if not has_members(group):
            self.unregister(group)

    def groups(self, mark: str) -> list[int]:
        """Return the registered groups at or below a mark."""
        return [group for group, group_mark in self._groups.items() if group_mark.startswith(mark)]

    async def close(self) -> None:
        """Stop the watcher process, which terminates the registered groups; wait for it."""
        # Detached before the await, so that no other task writes to the pipe while it is closed.
        process, self._process = self._process, None
        self._groups.clear()
        if process is None:
            return
        # Shielded: the server shuts down here, and an interrupted close would skip the termination.
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(process.release)

    async def _prune_periodically(self) -> None:
        try:
            while self._groups:
                await anyio.sleep(self._prune_seconds)
                # A copy: `unregister` removes entries. Empty groups must go soon, before their
                # number is reused by a foreign process, which the watcher would kill.
                for group in tuple(self._groups):
                    self.unregister_if_empty(group)
                if self._groups and self._process is not None and self._process.has_ended():
                    try:
                        self._replace()
                    except OSError:  # the next command reports it
                        self._drop()
        finally:
            self._is_pruning = False

    def _send(self, line: str) -> None:
        """Send a line; a watcher that cannot take it is replaced and gets the whole record."""
        try:
            if self._process is not None:
                self._process.send(line)
                return
        except OSError:
            self._drop()
        self._replace()

    def _replace(self) -> None:
        self._drop()
        self._process = _WatcherProcess(self._path, self.mark)
        for group in self._groups:
            self._process.send(f"+{group}\n")

    def _drop(self) -> None:
        """Kill the watcher process without triggering the termination of its groups."""
        if self._process is not None:
            self._process.kill()
        self._process = None


class _WatcherProcess:
    """A watcher process and the pipe whose end-of-file triggers it."""

    def __init__(self, path: str, mark: str) -> None:
        watcher_stdin, self._pipe = os.pipe()
        try:
            os.set_blocking(self._pipe, False)  # a stuck watcher must not block the server
            self._process = subprocess.Popen(  # noqa: S603 -- our own script
                ("/bin/sh", str(SCRIPT), mark),
                stdin=watcher_stdin,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # It outlives the server and must hold nothing of it: no directory, variables or
                # open output.
                cwd="/",
                env={"PATH": path, "LC_ALL": "C"},
                # A session of its own: signals of the server's terminal (Ctrl-C, hang-up) do not
                # reach it.
                start_new_session=True,
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(watcher_stdin)

    @property
    def id(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def send(self, line: str) -> None:
        os.write(self._pipe, line.encode())

    def release(self) -> None:
        os.close(self._pipe)
        try:
            self._process.wait(RELEASE_SECONDS)
        except subprocess.TimeoutExpired:  # it works on alone; the thread only reaps it
            Thread(target=self._process.wait, name="acp-watcher", daemon=True).start()

    def kill(self) -> None:
        # Order: kill before closing, because end-of-file would make it terminate the commands.
        self._process.kill()
        os.close(self._pipe)
        self._process.wait()
