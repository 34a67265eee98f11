"""The process that outlives the server, to end what its commands left running.

Owns the record of which process groups may be running, here and in the watching process. That one
holds the end of a pipe; the server's death, even by SIGKILL, closes the other end. It is started
with the first command, in a session of its own, and started again should it die.

A group's number is free for anybody's use once the group is empty, so it is taken off the record
within a second from then. Systems hand out numbers in turn: none comes again that soon.
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
from acp_server.tools.shell.processes import has_members

SCRIPT = Path(__file__).with_name("watcher.sh")
LOOK_SECONDS = 1.0
RELEASE_SECONDS = 1.5


class Watcher:
    """Knows the process groups of all commands, and has them ended when the server dies."""

    def __init__(
        self,
        tasks: TaskGroup,
        environment: Mapping[str, str],
        look_seconds: float = LOOK_SECONDS,
    ) -> None:
        """Prepare; a task in `tasks` keeps the record true while there is something on it.

        Of the environment only PATH is used.
        """
        self._tasks = tasks
        self._look_seconds = look_seconds
        self._path = environment.get("PATH", os.defpath)
        self._groups: dict[int, str] = {}
        self._process: _Process | None = None
        self._is_looking = False
        self._sessions = 0
        self.mark = f"{secrets.token_hex(8)}."

    def session_mark(self) -> str:
        """Return a new mark below the server's."""
        self._sessions += 1
        return f"{self.mark}{self._sessions}."

    @property
    def process_id(self) -> int | None:
        """The watching process, once there is one."""
        return self._process.id if self._process else None

    def register(self, group: int, mark: str) -> None:
        """Have a group ended when the server dies. Call it before anything runs in the group.

        Raises:
            ShellError: there is nobody to watch over it.
        """
        self._groups[group] = mark
        try:
            self._tell(f"+{group}\n")
        except OSError as error:
            del self._groups[group]
            reason = f"no command can be run: the process that would end it is missing: {error}"
            raise ShellError(reason) from error
        if not self._is_looking:
            self._is_looking = True
            self._tasks.start_soon(self._keep_looking)

    def forget(self, group: int) -> None:
        """Take a group off the record."""
        if self._groups.pop(group, None) is None:
            return
        try:
            self._tell(f"-{group}\n")
        except OSError:  # the next one to be started will not know the group
            self._drop()

    def forget_if_empty(self, group: int) -> None:
        """Take a group off the record unless something is running in it."""
        if not has_members(group):
            self.forget(group)

    def groups(self, mark: str) -> list[int]:
        """Return the groups on the record that are at or below a mark."""
        return [group for group, its_mark in self._groups.items() if its_mark.startswith(mark)]

    async def close(self) -> None:
        """Let the watching process go. It ends what is still on the record, and is waited for."""
        process, self._process = self._process, None
        self._groups.clear()
        if process is None:
            return
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(process.release)

    async def _keep_looking(self) -> None:
        try:
            while self._groups:
                await anyio.sleep(self._look_seconds)
                self._look()
        finally:
            self._is_looking = False

    def _look(self) -> None:
        for group in tuple(self._groups):
            self.forget_if_empty(group)
        if self._groups and self._process is not None and self._process.has_ended():
            try:
                self._replace()
            except OSError:  # the next command will say so
                self._drop()

    def _tell(self, line: str) -> None:
        """Write a line; one who cannot take it is replaced, and told everything."""
        try:
            if self._process is not None:
                self._process.tell(line)
                return
        except OSError:
            self._drop()
        self._replace()

    def _replace(self) -> None:
        self._drop()
        self._process = _Process(self._path, self.mark)
        for group in self._groups:
            self._process.tell(f"+{group}\n")

    def _drop(self) -> None:
        """End a watching process without its ending what it watches over."""
        if self._process is not None:
            self._process.kill()
        self._process = None


class _Process:
    """A watching process, and the pipe that keeps it quiet."""

    def __init__(self, path: str, mark: str) -> None:
        its_input, self._pipe = os.pipe()
        try:
            os.set_blocking(self._pipe, False)  # one that is stuck must not stop the server
            self._process = subprocess.Popen(  # noqa: S603 -- our own script
                ("/bin/sh", str(SCRIPT), mark),
                stdin=its_input,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={"PATH": path, "LC_ALL": "C"},
                start_new_session=True,
            )
        except OSError:
            os.close(self._pipe)
            raise
        finally:
            os.close(its_input)

    @property
    def id(self) -> int:
        return self._process.pid

    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def tell(self, line: str) -> None:
        os.write(self._pipe, line.encode())

    def release(self) -> None:
        os.close(self._pipe)
        try:
            self._process.wait(RELEASE_SECONDS)
        except subprocess.TimeoutExpired:  # it goes on by itself; whoever waits only buries it
            Thread(target=self._process.wait, name="acp-watcher", daemon=True).start()

    def kill(self) -> None:
        self._process.kill()  # first, for the end of its input would set it off
        os.close(self._pipe)
        self._process.wait()
