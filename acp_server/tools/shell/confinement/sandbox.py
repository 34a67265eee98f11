"""Sandbox: finds a launcher once and builds the launch arguments of each command.

Tracks whether there is a sandbox and whether the user was notified. `limits` decides what a command
may do in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.permissions.effects import SandboxStatus
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.shell.confinement.denials import describe_denial
from acp_server.tools.shell.confinement.launchers import (
    PERL_VARIABLES,
    MissingLauncher,
    SandboxLauncher,
    find_launcher,
)
from acp_server.tools.shell.confinement.limits import SandboxLimits, SandboxScope
from acp_server.tools.shell.confinement.namespaces import SessionNamespaces
from acp_server.tools.shell.confinement.search_limits import build_search_limits

UNAVAILABLE = (
    "The sandbox does not work on this machine: {reason}. You are therefore asked about every "
    "command, including those that only read. To turn this off, set `sandbox.mode: off`."
)

FindLauncher = Callable[[], SandboxLauncher | MissingLauncher]


@frozen_dataclass
class TerminalConfinement:
    """Launcher arguments for a command in the editor's terminal, and the files it needs there."""

    launcher: Sequence[str] = ()
    files: Sequence[str] = ()


class Sandbox:
    """The sandbox of a server, shared by all its sessions."""

    def __init__(
        self,
        config: SandboxConfig,
        environment: Mapping[str, str],
        find: FindLauncher | None = None,
    ) -> None:
        """Prepare; the launcher is looked up on first use."""
        self.config = config
        self._find = find or partial(find_launcher, environment)
        self._lock = anyio.Lock()
        self._found: SandboxLauncher | MissingLauncher | None = None
        self._has_announced = False

    async def launcher(self) -> SandboxLauncher | MissingLauncher | None:
        """Return the launcher of confined commands; None if confinement is off."""
        if self.config.mode == "off":
            return None
        # Single-flight: concurrent first commands share one trial run.
        async with self._lock:
            if self._found is None:
                self._found = await to_thread.run_sync(self._find)
        return self._found

    async def announce(self, notify: Callable[[str], None]) -> None:
        """Notify the user, once, if commands cannot be confined on this machine."""
        found = await self.launcher()
        if isinstance(found, MissingLauncher) and not self._has_announced:
            # Set before notifying, so that concurrent sessions do not both notify.
            self._has_announced = True
            notify(UNAVAILABLE.format(reason=found.reason))


@frozen_dataclass
class SessionSandbox:
    """The sandbox of one session, shared by its sub-agents."""

    sandbox: Sandbox
    scope: SandboxScope
    namespaces: SessionNamespaces

    async def status(self, *, is_unconfined: bool = False) -> SandboxStatus:
        """Return the sandbox status of a command for the permission gate."""
        match await self.sandbox.launcher():
            case None:
                return "free"
            case MissingLauncher():
                return "unprotected"
            case _:
                return "unconfined" if is_unconfined else "confined"

    async def wrap_command(
        self, variables: Mapping[str, str]
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the launcher arguments of a command, and its environment.

        Without a launcher, there are no arguments and the environment is unchanged. Variables that
        the launcher itself must not obey reach the command through the arguments.
        """
        launcher = await self._available_launcher()
        if launcher is None:
            return (), dict(variables)
        limits = await self._resolve_limits(launcher)
        command_variables = {name: variables[name] for name in PERL_VARIABLES if name in variables}
        launcher_environment = {
            name: value for name, value in variables.items() if name not in command_variables
        }
        return launcher.build_arguments(limits, command_variables), launcher_environment

    async def wrap_terminal_command(self) -> TerminalConfinement:
        """Return how a command is confined in the editor's terminal."""
        launcher = await self._available_launcher()
        if launcher is None:
            return TerminalConfinement()
        limits = await self._resolve_limits(launcher)
        return TerminalConfinement(launcher.build_arguments(limits, {}), launcher.files)

    async def wrap_search(
        self, root: Path, program: Path, *, hides_private_paths: bool
    ) -> tuple[str, ...]:
        """Return launcher arguments for our own search program, which may read below `root` only.

        The root is a path without symlinks. With `hides_private_paths`, private paths below it
        stay unreadable.
        """
        launcher = await self._available_launcher()
        if launcher is None:
            return ()
        hidden = await to_thread.run_sync(self.scope.hidden_paths) if hides_private_paths else ()
        limits = await to_thread.run_sync(build_search_limits, root, program, hidden)
        return launcher.build_arguments(limits, {})

    def describe_denial(self, output: str, *, has_failed: bool) -> str:
        """Return a remark about operations that the sandbox has refused; empty if none."""
        has_network = self.scope.config.has_network
        return describe_denial(output, has_failed=has_failed, has_network=has_network)

    async def close(self) -> None:
        """Release the session's namespaces, once no command of the session runs."""
        await self.namespaces.close()

    async def _resolve_limits(self, launcher: SandboxLauncher) -> SandboxLimits:
        limits = await to_thread.run_sync(self.scope.resolve_limits)
        if limits.has_network:
            return limits
        return replace(limits, namespaces=await self.namespaces.files(launcher))

    async def _available_launcher(self) -> SandboxLauncher | None:
        found = await self.sandbox.launcher()
        return None if isinstance(found, MissingLauncher) else found
