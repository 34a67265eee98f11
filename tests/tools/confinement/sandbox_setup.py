"""Home with private files, a workspace in it, and sandboxed commands.

    async with open_confined(directories) as session:
        outcome = await session.run("touch a.txt")

`outside` and the home are in no temporary directory of the sandbox, although the test's own
directory is temporary: only `temporary` counts as temporary for the sandbox.
"""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import anyio
import pytest
from anyio.abc import TaskGroup

from acp_server.config import settings
from acp_server.permissions.network_access import NetworkAccess
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.shell.confinement.connections import CommandConnections
from acp_server.tools.shell.confinement.host_questions import HostQuestions
from acp_server.tools.shell.confinement.launchers import (
    MissingLauncher,
    SandboxLauncher,
    find_launcher,
)
from acp_server.tools.shell.confinement.limits import SandboxScope
from acp_server.tools.shell.confinement.namespaces import SessionNamespaces
from acp_server.tools.shell.confinement.network import SessionNetwork
from acp_server.tools.shell.confinement.sandbox import Sandbox, SessionSandbox
from acp_server.tools.shell.confinement.session_directory import SessionDirectory
from acp_server.tools.shell.confinement.socket_questions import SocketQuestions
from tests.tools.shell.command_session import CommandSession, open_command_session

SECRET = "hush-4711"  # noqa: S105  content of every private file, not a real secret
HOME_FILES = {
    ".ssh/id_ed25519": SECRET,
    ".aws/credentials": SECRET,
    ".config/gh/hosts.yml": SECRET,
    ".netrc": SECRET,
    ".bash_history": SECRET,
    ".hermes/.env": SECRET,
    ".hermes/acp/credentials.json": SECRET,
    ".hermes/acp/sessions.db": SECRET,
    ".hermes/skills/greeting/SKILL.md": "Say hello.",
    ".gitconfig": "[user]\n\tname = A Person\n\temail = person@example.org\n",
    "notes/today.md": "nothing",
}


@dataclass(frozen=True, slots=True)
class SandboxDirectories:
    """Directories of a user."""

    base: Path
    home: Path
    root: Path
    outside: Path
    temporary_directories: Path

    @property
    def config_home(self) -> Path:
        return self.home / ".hermes"

    @property
    def config(self) -> SandboxConfig:
        return SandboxConfig(
            "workspace", "off", temporary_directories=(self.temporary_directories,)
        )

    def make_scope(self, config: SandboxConfig | None = None) -> SandboxScope:
        variables = settings.child_environment({"TMPDIR": None})
        return SandboxScope(
            (self.root,), config or self.config, self.home, self.config_home, variables
        )


def create_directories(base: Path) -> SandboxDirectories:
    base = base.resolve()
    directories = SandboxDirectories(
        base, base / "home", base / "home" / "work", base / "outside", base / "temp"
    )
    for folder in (directories.root, directories.outside, directories.temporary_directories):
        folder.mkdir(parents=True)
    for name, text in HOME_FILES.items():
        path = directories.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (directories.outside / "there.txt").write_text("as it was")
    return directories


@cache
def launcher() -> SandboxLauncher | MissingLauncher:
    """Return the sandbox launcher of this machine."""
    return find_launcher(settings.child_environment({}))


def working_launcher() -> SandboxLauncher:
    """Return the same for a test that needs one."""
    found = launcher()
    assert isinstance(found, SandboxLauncher)
    return found


needs_sandbox = pytest.mark.skipif(
    isinstance(launcher(), MissingLauncher), reason="commands cannot be confined on this machine"
)
needs_landlock = pytest.mark.skipif(
    isinstance(launcher(), MissingLauncher) or not sys.platform.startswith("linux"),
    reason="there is no Landlock on this machine",
)


@cache
def _has_namespaces() -> bool:
    if not sys.platform.startswith("linux") or isinstance(launcher(), MissingLauncher):
        return False

    async def look() -> bool:
        namespaces = SessionNamespaces(settings.child_environment({}))
        found = await namespaces.files(working_launcher())
        await namespaces.close()
        return bool(found)

    return anyio.run(look)


needs_namespaces = pytest.mark.skipif(
    not _has_namespaces(), reason="there are no namespaces to be had on this machine"
)


def make_sandbox(
    dirs: SandboxDirectories,
    config: SandboxConfig | None = None,
    questions: HostQuestions | None = None,
    tasks: TaskGroup | None = None,
) -> SessionSandbox:
    """Return the sandbox of a session; if its network is that of asked hosts, with `tasks`."""
    config = config or dirs.config
    network, directory = make_network(config.network, questions, tasks), SessionDirectory()
    connections = None
    if tasks is not None:
        ask = SocketQuestions({}).ask
        connections = CommandConnections(directory.path, ask, tasks.start_soon)
    scope = dirs.make_scope(config)
    return SessionSandbox(Sandbox(config, {}, launcher), scope, network, directory, connections)


def make_network(
    choice: NetworkAccess = "off",
    questions: HostQuestions | None = None,
    tasks: TaskGroup | None = None,
) -> SessionNetwork:
    """Return the network of a session."""

    def spawn(task: TaskFunction) -> None:
        assert tasks is not None
        tasks.start_soon(task)

    namespaces = SessionNamespaces(settings.child_environment({}))
    return SessionNetwork(
        namespaces, questions or HostQuestions(()), lambda: choice, lambda: "ask", spawn
    )


@asynccontextmanager
async def open_confined(
    directories: SandboxDirectories,
    config: SandboxConfig | None = None,
    environment: Mapping[str, str] | None = None,
    sandbox: SessionSandbox | None = None,
) -> AsyncGenerator[CommandSession]:
    """Open a shell session in the workspace whose commands are sandboxed."""
    sandbox = sandbox or make_sandbox(directories, config)
    variables = {"HOME": str(directories.home), **(environment or {})}
    try:
        async with open_command_session(directories.root, variables, (), sandbox) as session:
            yield session
    finally:
        await sandbox.close()


def with_network(directories: SandboxDirectories) -> SandboxConfig:
    return replace(directories.config, network="on")
