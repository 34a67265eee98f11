"""What the confined commands of one session reach: their own network, allowed hosts, or all."""

from collections.abc import Callable, Mapping

import anyio

from acp_server.permissions.network_access import NetworkAccess
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.host_proxy import HostProxy
from acp_server.tools.shell.confinement.host_questions import HostQuestions
from acp_server.tools.shell.confinement.launchers import SandboxLauncher
from acp_server.tools.shell.confinement.namespaces import SessionNamespaces

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
        spawn: Callable[[TaskFunction], None],
    ) -> None:
        """Prepare; `choice` returns what the user has chosen, `spawn` runs tasks of the session."""
        self.namespaces = namespaces
        self.choice = choice
        self._proxy = HostProxy(questions.ask)
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

    async def close(self) -> None:
        """End all connections, once no command of the session runs."""
        self._proxy.close()
        await self.namespaces.close()
