"""Sandbox: finds a launcher once and builds the launch arguments of each command.

Tracks whether there is a sandbox and whether the user was notified. `limits` decides what a command
may do in it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.permissions.effects import SandboxStatus
from acp_server.permissions.shielded_files import Shield
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.command_access import CommandAccess
from acp_server.tools.shell.confinement.caches import cache_variables
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.shell.confinement.connections import CommandConnections
from acp_server.tools.shell.confinement.denials import DenialContext, describe_denial
from acp_server.tools.shell.confinement.forwarding import ForwardedPort
from acp_server.tools.shell.confinement.launchers import (
    PERL_VARIABLES,
    MissingLauncher,
    SandboxLauncher,
    find_launcher,
)
from acp_server.tools.shell.confinement.limits import SandboxLimits, SandboxScope
from acp_server.tools.shell.confinement.network import NO_OWN_NETWORK, SessionNetwork
from acp_server.tools.shell.confinement.search_limits import build_search_limits
from acp_server.tools.shell.confinement.session_directory import SessionDirectory
from acp_server.tools.shell.errors import ShellError

UNAVAILABLE = (
    "The sandbox does not work on this machine: {reason}.{remedy} Until then, you are asked about "
    "every command, including those that only read. To do without it, set `sandbox.mode: off`."
)
UNAVAILABLE_IN_RUN = (
    "The sandbox does not work on this machine: {reason}.{remedy} Until then, the rules of this "
    "run alone decide about every command. To do without it, set `sandbox.mode: off`."
)

FindLauncher = Callable[[], SandboxLauncher | MissingLauncher]


@frozen_dataclass
class TerminalConfinement:
    """Launcher arguments for a command in the editor's terminal, and the files it needs there."""

    launcher: Sequence[str] = ()
    files: Sequence[str] = ()
    variables: dict[str, str] = field(default_factory=dict[str, str])
    """Variables that the command needs in the sandbox."""


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

    async def announce(self, notify: Callable[[str], None], *, is_unattended: bool = False) -> None:
        """Notify the user, once, if commands cannot be confined on this machine."""
        found = await self.launcher()
        if isinstance(found, MissingLauncher) and not self._has_announced:
            # Set before notifying, so that concurrent sessions do not both notify.
            self._has_announced = True
            text = UNAVAILABLE_IN_RUN if is_unattended else UNAVAILABLE
            remedy = f" To use it, {found.remedy}." if found.remedy else ""
            notify(text.format(reason=found.reason, remedy=remedy))


@frozen_dataclass
class SessionSandbox:
    """The sandbox of one session, shared by its sub-agents."""

    sandbox: Sandbox
    scope: SandboxScope
    network: SessionNetwork
    directory: SessionDirectory = field(default_factory=SessionDirectory)
    connections: CommandConnections | None = None
    """Makes the connections of commands; without it, they have no Unix sockets."""

    async def status(
        self, *, is_unconfined: bool = False, needs_network: bool = False
    ) -> SandboxStatus:
        """Return the sandbox status of a command for the permission gate."""
        match await self.sandbox.launcher():
            case None:
                return "free"
            case MissingLauncher():
                return "unprotected"
            case _:
                if is_unconfined:
                    return "unconfined"
                is_more = needs_network and self.network.choice() != "on"
                return "networked" if is_more else "confined"

    async def can_shield(self) -> bool:
        """Return whether files can be kept from a command that reaches only allowed hosts."""
        launcher = await self._available_launcher()
        # Files are masked by mounts, for which it takes namespaces.
        return (
            launcher is not None
            and self.network.choice() != "on"
            and bool(await self.network.namespaces.files(launcher))
        )

    async def wrap_command(
        self,
        variables: Mapping[str, str],
        origin: CommandOrigin | None = None,
        *,
        has_network: bool = False,
        shield: Shield | None = None,
    ) -> tuple[tuple[str, ...], dict[str, str]]:
        """Return the launcher arguments of a command, and its environment.

        With `has_network`, it has the network although the user has not chosen that for all.
        The files of `shield` are kept from it; if they cannot be, it does not run.

        Without a launcher, there are no arguments and the environment is unchanged. Variables that
        the launcher itself must not obey reach the command through the arguments.
        """
        launcher = await self._available_launcher()
        if launcher is None:
            return (), dict(variables)
        limits, added = await self._resolve_limits(
            launcher, origin, has_network=has_network, shield=shield
        )
        variables = {**variables, **added}
        command_variables = {name: variables[name] for name in PERL_VARIABLES if name in variables}
        launcher_environment = {
            name: value for name, value in variables.items() if name not in command_variables
        }
        return launcher.build_arguments(limits, command_variables), launcher_environment

    async def wrap_terminal_command(
        self,
        origin: CommandOrigin | None = None,
        *,
        has_network: bool = False,
        shield: Shield | None = None,
    ) -> TerminalConfinement:
        """Return how a command is confined in the editor's terminal."""
        launcher = await self._available_launcher()
        if launcher is None:
            return TerminalConfinement()
        limits, added = await self._resolve_limits(
            launcher, origin, has_network=has_network, shield=shield
        )
        arguments = launcher.build_arguments(limits, {})
        return TerminalConfinement(arguments, launcher.files, dict(added))

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

    def describe_denial(self, output: str, access: CommandAccess, *, has_failed: bool) -> str:
        """Return a remark about operations that the sandbox has refused; empty if none."""
        context = DenialContext(
            has_failed,
            access.only_reads,
            access.has_network or self.network.choice() == "on",
            has_hosts=self.network.has_hosts,
            has_localhost=self.network.has_localhost,
            refused_sites=() if access.origin is None else access.origin.refused_sites,
            refused_sockets=() if access.origin is None else access.origin.refused_sockets,
            unreachable_sites={} if access.origin is None else access.origin.unreachable_sites,
        )
        return describe_denial(output, context)

    async def forward(self, port: int) -> ForwardedPort:
        """Make a port of the commands' private network reachable from this machine.

        Raises:
            ShellError: Commands have no such network here, or this machine has no free port.
        """
        launcher = await self._available_launcher()
        if launcher is None:
            raise ShellError(NO_OWN_NETWORK)
        return await self.network.forward(launcher, port)

    async def close(self) -> None:
        """Release the session's network, once no command of the session runs."""
        try:
            await self.network.close()
        finally:
            if self.connections is not None:
                await self.connections.close()
        await to_thread.run_sync(self.directory.remove)

    async def _resolve_limits(
        self,
        launcher: SandboxLauncher,
        origin: CommandOrigin | None,
        *,
        has_network: bool,
        shield: Shield | None,
    ) -> tuple[SandboxLimits, Mapping[str, str]]:
        """Return the limits of a command, and the variables that it needs under them."""
        limits = await to_thread.run_sync(self.scope.resolve_limits)
        directory = await to_thread.run_sync(self.directory.path)
        limits = replace(limits, writable=(*limits.writable, directory))
        if shield is not None:
            read_only = (*limits.read_only, *shield.read_only)
            limits = replace(limits, masked=shield.hidden, read_only=read_only)
        variables = dict(cache_variables(self.scope.caches))
        variables |= dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(directory))
        has_network = has_network or self.network.choice() == "on"
        # Other systems bound connections by the profile of their sandbox.
        if self.connections is not None and launcher.hold_arguments is not None:
            register = self.connections.register
            supervisor = await register(origin, has_own_network=not has_network)
            limits = replace(limits, supervisor=supervisor)
        if has_network:
            return replace(limits, has_network=True), variables
        network = await self.network.join(launcher, origin)
        return replace(limits, namespaces=network.namespaces), {**variables, **network.variables}

    async def _available_launcher(self) -> SandboxLauncher | None:
        found = await self.sandbox.launcher()
        return None if isinstance(found, MissingLauncher) else found
