"""What the confined commands of one session reach: their own network, allowed hosts, or all."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio
from anyio import to_thread

from acp_server.permissions.network_access import NetworkAccess, PortAccess
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.forwarding import ForwardedPort, PortForwarder
from acp_server.tools.shell.confinement.host_proxy import HostProxy
from acp_server.tools.shell.confinement.host_questions import HostQuestions
from acp_server.tools.shell.confinement.launchers import SandboxLauncher
from acp_server.tools.shell.confinement.namespaces import SessionNamespaces
from acp_server.tools.shell.errors import ShellError

OFFLINE_VARIABLES: Mapping[str, str] = {
    "PIP_RETRIES": "0",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "UV_HTTP_RETRIES": "0",
    "npm_config_fetch_retries": "0",
    "npm_config_update_notifier": "false",
    "YARN_HTTP_RETRY": "0",
    "CARGO_NET_RETRY": "0",
    "BUNDLE_RETRY": "0",
    "POETRY_REQUESTS_MAX_RETRIES": "0",
}
"""Package managers try for a minute and more where nothing can answer."""

NO_OWN_NETWORK = (
    "commands have no network of their own on this machine, so there is nothing to forward; a "
    "server that is run with network=true listens on this machine itself"
)
ON_THIS_MACHINE = (
    "commands use the whole network in this session, so their servers listen on this machine itself"
)


@frozen_dataclass
class CommandNetwork:
    """The network of one command."""

    namespaces: tuple[str, ...]
    """The files by which it joins the network of its session."""
    variables: Mapping[str, str]


class SessionNetwork:
    """The network of one session's confined commands, created at the first use."""

    def __init__(
        self,
        namespaces: SessionNamespaces,
        questions: HostQuestions,
        choice: Callable[[], NetworkAccess],
        ports: Callable[[], PortAccess],
        spawn: Callable[[TaskFunction], None],
    ) -> None:
        """Prepare; `spawn` runs tasks of the session.

        `choice` and `ports` return what the user has chosen: what commands reach, and whether their
        ports may be made reachable.
        """
        self.namespaces = namespaces
        self.choice = choice
        self.ports = ports
        self._proxy = HostProxy(questions.ask)
        self._forwarder: PortForwarder | None = None
        self._spawn = spawn
        self._lock = anyio.Lock()

    @property
    def has_hosts(self) -> bool:
        """Whether commands reach the hosts that the user allows."""
        return self._proxy.is_running and self.choice() == "hosts"

    @property
    def has_localhost(self) -> bool:
        """Whether commands have a network of their own; true until the first one has started."""
        return not self.namespaces.is_unavailable

    async def join(self, launcher: SandboxLauncher, origin: CommandOrigin | None) -> CommandNetwork:
        """Return the network of a command that does not use the whole network."""
        files = await self.namespaces.files(launcher)
        if not files or self.choice() == "off":
            return CommandNetwork(files, OFFLINE_VARIABLES)
        async with self._lock:
            if not self._proxy.is_running:
                listening = await self.namespaces.open_socket(launcher)
                # All of it is loopback: a private network has no other device.
                listening.bind(("0.0.0.0", 0))  # noqa: S104
                listening.listen()
                self._spawn(await self._proxy.start(listening))
        return CommandNetwork(files, self._proxy.variables(origin))

    async def forward(self, launcher: SandboxLauncher, port: int) -> ForwardedPort:
        """Make a port of the commands' own network reachable from this machine.

        Raises:
            ShellError: Commands have no such network here, or this machine has no free port.
        """
        if not await self.namespaces.files(launcher):
            raise ShellError(NO_OWN_NETWORK)
        if self.choice() == "on" and port not in await to_thread.run_sync(self.listening_ports):
            raise ShellError(ON_THIS_MACHINE)
        if self._forwarder is None:
            open_socket = partial(self.namespaces.open_socket, launcher)
            self._forwarder = PortForwarder(open_socket, self._spawn)
        try:
            return await self._forwarder.start(port)
        except OSError as error:
            raise ShellError(f"this machine has no free port: {error}") from error

    def stop_forwarding(self, port: int) -> bool:
        """Return whether the port was reachable from this machine; it is not any more."""
        return self._forwarder is not None and self._forwarder.stop(port)

    @property
    def forwarded_ports(self) -> Mapping[int, ForwardedPort]:
        """The ports of the commands' own network that this machine reaches."""
        return {} if self._forwarder is None else self._forwarder.ports

    def listening_ports(self) -> Sequence[int]:
        """Return the ports on which commands listen, in their own network. Blocks."""
        return [port for port in self.namespaces.listening_ports() if port != self._proxy.port]

    async def close(self) -> None:
        """End all connections, once no command of the session runs."""
        if self._forwarder is not None:
            self._forwarder.close()
        self._proxy.close()
        await self.namespaces.close()
