"""The slash command `/forward`: which ports of the sandbox this machine reaches.

The user types it, so nothing is asked.
"""

from anyio import to_thread

from acp_server.session.ports.port_forwarding import NOT_SANDBOXED
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.confinement.forwarding import ForwardedPort
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.shell.errors import ShellError

USAGE = "Name one port from 1 to 65535: `/forward 8000`, or `/forward stop 8000`."
NO_PORTS = "No command listens on a port, and none is forwarded."
MAX_PORT = 65_535


@frozen_dataclass
class PortCommands:
    """Forwards ports as the user asks for."""

    sandbox: SessionSandbox | None

    async def run(self, arguments: str) -> str:
        """Forward the named port, stop that, or list the ports; return Markdown."""
        if self.sandbox is None:
            return NOT_SANDBOXED
        match arguments.split():
            case []:
                return await self._list(self.sandbox)
            case ["stop", text] if port := _parse_port(text):
                return _stop(self.sandbox, port)
            case [text] if port := _parse_port(text):
                return await self._start(self.sandbox, port)
            case _:
                return USAGE

    async def _list(self, sandbox: SessionSandbox) -> str:
        forwarded = sandbox.network.forwarded_ports
        listening = await to_thread.run_sync(sandbox.network.listening_ports)
        lines = [_format_line(each, is_used=each.port in listening) for each in forwarded.values()]
        lines += [f"- {port}: not forwarded" for port in listening if port not in forwarded]
        return "\n".join(lines) or NO_PORTS

    async def _start(self, sandbox: SessionSandbox, port: int) -> str:
        try:
            forwarded = await sandbox.forward(port)
        except ShellError as error:
            return f"Port {port} is not forwarded: {error}."
        listening = await to_thread.run_sync(sandbox.network.listening_ports)
        return _format_line(forwarded, is_used=port in listening).removeprefix("- ")


def _stop(sandbox: SessionSandbox, port: int) -> str:
    was_forwarded = sandbox.network.stop_forwarding(port)
    return f"Port {port} {'is no longer' if was_forwarded else 'was not'} forwarded."


def _format_line(forwarded: ForwardedPort, *, is_used: bool) -> str:
    note = "" if is_used else " (no command listens there yet)"
    return f"- {forwarded.port}: {forwarded.url}{note}"


def _parse_port(text: str) -> int:
    """Return a port; 0 if the text is none."""
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_PORT))
    return int(text) if is_number and int(text) <= MAX_PORT else 0
