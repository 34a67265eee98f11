"""Process of a stdio server: start, pipes and shutdown.

Handles lines, not messages. The child starts as a shell that waits for a line on stdin and then
execs the server. In between, its process group is registered with the watcher process. A server
therefore never runs unregistered, and the watcher ends it even if this process is killed.
"""

import os
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import anyio
from anyio.abc import Process

from acp_server.mcp.ports import ServerError
from acp_server.session.ports.mcp_configs import StdioServerConfig
from acp_server.tools.shell.environment import MARK_VARIABLE, MIN_SECRET_LENGTH
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.process_groups import terminate_processes
from acp_server.tools.shell.watcher import ProcessWatcher
from skills_store.programs import find_program

READ_BYTES = 256 * 1024
MAX_LINE_BYTES = 64 * 1024 * 1024
EXIT_SECONDS = 0.3
"""How long a server may take to exit after its stdin is closed."""
REAP_SECONDS = 1.0
END_ROUNDS = 5
"""Attempts to end all processes: on a busy machine one attempt may not inspect them all."""

_WAIT_THEN_EXEC = 'read -r _ && exec "$@"'
_START_LINE = b"\n"

_LOCALE = ("LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TZ")
_USER = ("HOME", "USER", "LOGNAME", "SHELL", "TERM")
_PATHS = ("PATH", "TMPDIR", "TMP", "TEMP")
_XDG_DIRECTORIES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR")
_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE")
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "all_proxy")
INHERITED = frozenset(
    [
        *_LOCALE,
        *_USER,
        *_PATHS,
        *_XDG_DIRECTORIES,
        *_CERTIFICATES,
        *_PROXIES,
        *map(str.upper, _PROXIES),
    ]
)
"""Variables that a server inherits; none of them holds a key."""

ReceiveLine = Callable[[bytes], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ProcessContext:
    """Dependencies of server processes: watcher and environment."""

    watcher: ProcessWatcher
    environment: Mapping[str, str]
    """The environment of this process."""
    secret_names: Collection[str]


def server_environment(
    server: StdioServerConfig, inherited: Mapping[str, str], secret_names: Collection[str]
) -> dict[str, str]:
    """Return a server's environment: the safe inherited variables and its configured ones."""
    # An inherited variable can contain a key's value under another name: compare values too.
    secrets = {inherited[name] for name in secret_names if name in inherited}
    secrets = {value for value in secrets if len(value) >= MIN_SECRET_LENGTH}
    safe_variables = {
        name: value
        for name, value in inherited.items()
        if name in INHERITED and value not in secrets and not _holds_password(value)
    }
    return safe_variables | dict(server.environment)


def _holds_password(value: str) -> bool:
    return "://" in value and "@" in value


class ServerProcess:
    """A running server process. Its owner must call `end`."""

    def __init__(
        self, process: Process, mark: str, watcher: ProcessWatcher, pipes: "_Pipes"
    ) -> None:
        self._process = process
        self._mark = mark
        self._watcher = watcher
        self._pipes = pipes

    @classmethod
    async def start(
        cls, server: StdioServerConfig, directory: Path, context: ProcessContext
    ) -> "ServerProcess":
        """Start a server in its configured directory, or else in `directory`.

        Raises:
            ServerError: The server cannot be started.
        """
        mark = context.watcher.new_session_mark()
        environment = server_environment(server, context.environment, context.secret_names)
        argv = (*_launcher_argv(server, environment), *server.args)
        pipes = _Pipes()
        process: Process | None = None
        try:
            process = await anyio.open_process(
                argv,
                stdin=pipes.child_stdin,
                stdout=pipes.child_stdout,
                stderr=pipes.child_stderr,
                cwd=directory / (server.cwd or ""),
                env=environment | {MARK_VARIABLE: mark},
                start_new_session=True,
            )
            started = cls(process, mark, context.watcher, pipes)
        except (OSError, ValueError) as error:
            message = f"it cannot be started: {error}"
            raise ServerError(message) from error
        finally:
            pipes.close_child_ends()
            if process is None:  # also when cancelled
                pipes.close()
        started._register_and_run()
        return started

    def _register_and_run(self) -> None:
        try:
            self._watcher.register(self._process.pid, self._mark)
        except ShellError as error:
            self._pipes.close()  # the waiting shell reads EOF from stdin and exits
            raise ServerError(error.reason) from error
        with suppress(BrokenPipeError):  # already killed; the end of its stdout will show that
            os.write(self._pipes.stdin, _START_LINE)

    @property
    def exit_code(self) -> int | None:
        """The exit code; None while the process runs."""
        return self._process.returncode

    async def write(self, data: bytes) -> None:
        """Write to the server's stdin.

        Raises:
            OSError: The pipe is closed.
        """
        remaining = memoryview(data)
        while remaining:
            try:
                remaining = remaining[os.write(self._pipes.stdin, remaining) :]
            except BlockingIOError:
                await anyio.wait_writable(self._pipes.stdin)

    async def read_output(self, receive: ReceiveLine) -> None:
        """Pass on each line of stdout until it is closed."""
        await _read_lines(self._pipes.stdout, receive)

    async def read_errors(self, receive: ReceiveLine) -> None:
        """Pass on each line of stderr until it is closed."""
        await _read_lines(self._pipes.stderr, receive)

    async def end(self) -> None:
        """End the server and all its child processes: close stdin, then kill.

        No other method may be running: the pipes are closed.
        """
        # Shielded, or a cancelled session would leave processes behind. All waits are bounded.
        with anyio.CancelScope(shield=True):
            self._pipes.close_stdin()
            with anyio.move_on_after(EXIT_SECONDS):
                await self._process.wait()
            group = self._process.pid
            has_ended = False
            for _ in range(END_ROUNDS):
                has_ended = has_ended or await terminate_processes([group], self._mark)
            with anyio.move_on_after(REAP_SECONDS):
                await self._process.wait()
            # Unregister only after the group is gone: the watcher must be able to end the rest if
            # this process dies here.
            if has_ended:
                self._watcher.unregister(group)
            else:
                self._watcher.unregister_if_empty(group)
            self._pipes.close()


class _Pipes:
    """The three pipes of a process; the ends of this process are non-blocking."""

    def __init__(self) -> None:
        self.child_stdin, self.stdin = os.pipe()
        self.stdout, self.child_stdout = os.pipe()
        self.stderr, self.child_stderr = os.pipe()
        self._open = {self.stdin, self.stdout, self.stderr}
        for end in self._open:
            os.set_blocking(end, False)

    def close_child_ends(self) -> None:
        for end in (self.child_stdin, self.child_stdout, self.child_stderr):
            os.close(end)

    def close_stdin(self) -> None:
        self._close(self.stdin)

    def close(self) -> None:
        for end in tuple(self._open):
            self._close(end)

    def _close(self, end: int) -> None:
        if end in self._open:
            self._open.remove(end)
            os.close(end)


def _launcher_argv(server: StdioServerConfig, environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return the argv of a shell that waits for a line and then execs the server."""
    if os.name != "posix":
        message = "servers cannot be started here: this system has no POSIX shell"
        raise ServerError(message)
    program = server.command
    if os.sep not in program:
        found = find_program(program, environment.get("PATH"))
        if found is None:
            message = f"there is no program `{server.command}` on the PATH"
            raise ServerError(message)
        program = found
    return "/bin/sh", "-c", _WAIT_THEN_EXEC, "sh", program


async def _read_lines(pipe: int, receive: ReceiveLine) -> None:
    """Pass on lines without their newline; skip lines longer than `MAX_LINE_BYTES`."""
    line = bytearray()
    is_too_long = False
    while chunk := await _next_chunk(pipe):
        *ended, rest = chunk.split(b"\n")
        for each in ended:
            line += each
            if not is_too_long and line.strip():
                await receive(bytes(line))
            line.clear()
            is_too_long = False
        line += rest
        if len(line) > MAX_LINE_BYTES:
            line.clear()
            is_too_long = True
    if line.strip() and not is_too_long:
        await receive(bytes(line))


async def _next_chunk(pipe: int) -> bytes:
    while True:
        await anyio.wait_readable(pipe)
        try:
            return os.read(pipe, READ_BYTES)
        except BlockingIOError:
            continue
        except OSError:  # a broken pipe counts as its end
            return b""
