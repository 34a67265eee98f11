"""Shell sessions that run real commands, and a check for commands that still run."""

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
import psutil

from acp_server.config.settings import child_environment
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.shell.session import CommandResult, ShellSession
from acp_server.tools.shell.watcher import ProcessWatcher
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

TOKEN_VARIABLE = "SHELL_TEST_TOKEN"  # noqa: S105  not a secret


@dataclass(frozen=True, slots=True)
class CommandOutcome:
    """Exit status and complete output of a command."""

    ended: CommandResult
    output: str


@dataclass(frozen=True, slots=True)
class CommandSession:
    """Shell session in a directory; a token marks its processes."""

    folder: Path
    token: str
    watcher: ProcessWatcher
    session: ShellSession
    chunks: list[bytes] = field(default_factory=list[bytes])

    async def run(
        self, command: str, timeout_seconds: float | None = HANG_TIMEOUT_SECONDS
    ) -> CommandOutcome:
        """Run a command to its end."""
        printed = bytearray()

        ended = await self.session.run(command, self.folder, printed.extend, timeout_seconds)
        return CommandOutcome(ended, printed.decode())


def server_environment(token: str, home: Path) -> dict[str, str]:
    """Return a server's variables: this process's, a separate home and a token."""
    return child_environment({TOKEN_VARIABLE: token, "HOME": str(home)})


def new_token() -> str:
    return secrets.token_hex(8)


@asynccontextmanager
async def open_command_session(
    folder: Path,
    environment: Mapping[str, str] | None = None,
    secret_names: tuple[str, ...] = (),
    sandbox: SessionSandbox | None = None,
) -> AsyncGenerator[CommandSession]:
    """Open a shell session; exiting the context ends all its processes."""
    token = new_token()
    variables = server_environment(token, folder) | dict(environment or {})
    async with anyio.create_task_group() as tasks:
        watcher = ProcessWatcher(tasks, variables, prune_seconds=0.1)
        session = ShellSession(watcher, tasks, variables, secret_names, sandbox)
        try:
            with anyio.fail_after(3 * HANG_TIMEOUT_SECONDS):
                yield CommandSession(folder, token, watcher, session)
        finally:
            # on a timeout the scope is cancelled, but the commands must still end
            with anyio.CancelScope(shield=True):
                await session.terminate_leftovers()
                await watcher.close()
            tasks.cancel_scope.cancel()


def running_commands(token: str) -> list[str]:
    """Return the command lines of processes with the token in environment or arguments."""
    if Path("/proc/self/environ").exists():
        return _running_commands_of_proc(token.encode())
    found: list[str] = []
    for process in psutil.process_iter():
        try:
            command_line = " ".join(process.cmdline())
            if token in command_line or process.environ().get(TOKEN_VARIABLE) == token:
                found.append(command_line)
        except psutil.Error:
            continue
    return found


def _running_commands_of_proc(token: bytes) -> list[str]:
    """Do the same on Linux, in a quarter of the time: tests look again and again."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = folder.joinpath("cmdline").read_bytes()
            variables = folder.joinpath("environ").read_bytes().split(b"\0")
        except OSError:
            continue
        if words and (token in words or TOKEN_VARIABLE.encode() + b"=" + token in variables):
            found.append(words.rstrip(b"\0").replace(b"\0", b" ").decode(errors="replace"))
    return found


async def wait_until(is_so: Callable[[], bool]) -> None:
    """Poll until a condition on other processes holds; they cannot set an event."""
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        while not is_so():  # noqa: ASYNC110  no process could set an event
            await anyio.sleep(0.01)


async def wait_until_running(token: str, *command_lines: str) -> None:
    """Wait until exactly these commands run with the token, in any order."""
    await wait_until(lambda: sorted(running_commands(token)) == sorted(command_lines))
